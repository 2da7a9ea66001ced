"""The course in other forms: a site of static pages, and the days of a workshop."""
