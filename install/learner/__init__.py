"""The learner's own folder: `make lab` fills it, `make update` brings it to a new edition."""
