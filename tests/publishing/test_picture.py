"""The README's picture shows what is recorded, and says it in words."""

from PIL import Image

from authoring.notebook_form import ROOT
from authoring.tables import three_digits
from helpers import ladder
from publishing import picture
from publishing.__main__ import main


def said_in(path):
    """What a PNG file says of itself."""
    with Image.open(path) as image:
        return image.text["Description"]


def test_picture_and_words_are_those_of_the_recorded_ladder():
    assert said_in(ROOT / picture.PLACE) == picture.in_words(), "run make picture"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"![{picture.in_words()}]({picture.PLACE})" in readme, "run make picture"
    (_, first), *_, (_, single), (_, half) = picture.rows()  # the numbers of the first paragraph
    assert ("In NumPy, on one of a processor's 16 cores, it reads"
            f" {three_digits(first.rate)}") in readme
    assert "16 cores" in first.machine
    assert (f"reads {three_digits(single.rate)} digits a second in float32, and"
            f" {three_digits(half.rate)} in float16") in readme


def test_the_readme_tells_the_batches_and_what_the_one_kernel_gains():
    rungs = dict(picture.rows())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    single, half = (rungs[f"one kernel, {number} (lesson 17)"] for number in ("float32", "float16"))
    peers = [rungs[f"torch.compile, {number}"] for number in ("float32", "float16")]
    assert (f"{single.rate / peers[0].rate:.1f} times as many digits as `torch.compile` in float32,"
            f" and {half.rate / peers[1].rate:.1f} times as many in float16") in readme
    slowest, *others = rungs.values()
    (batch,) = {rung.batch for rung in others}
    assert f"NumPy gets {slowest.batch:,} digits in each call" in readme
    assert f"All versions on the GPU read {batch:,} digits in a call" in readme
    measured = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    lesson = (ROOT / "notebooks" / "17_one_kernel_reader.ipynb").read_text(encoding="utf-8")
    for told, there in (("this is 42 % of", "The float32 kernel reads 42% of this."),
                        ("busy for 25 % of", "The tensor cores are busy for 25% of the time.")):
        assert told in measured and there in lesson


def test_the_rows_are_recorded_on_one_gpu_the_slowest_first():
    shown = picture.rows()
    rates = [rung.rate for _, rung in shown]
    assert rates == sorted(rates) and len(shown) == len(picture.OURS) + len(picture.PEERS)
    recorded = ladder.machines()[0].rungs
    for words, rung in shown:
        assert recorded[rung.name] == rung
        assert f"{words} {three_digits(rung.rate)}" in picture.in_words()


def test_another_number_is_found_and_the_picture_is_drawn_anew(tmp_path, capsys):
    (tmp_path / "helpers" / "draw").mkdir(parents=True)
    readme = tmp_path / "README.md"
    readme.write_text(f"# Mine\n\n![NumPy 1]({picture.PLACE})\n\nMore.\n", encoding="utf-8")
    assert main(["picture"], tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == [picture.PLACE, "README.md"]
    assert said_in(tmp_path / picture.PLACE) == picture.in_words()
    assert readme.read_text(encoding="utf-8") == \
        f"# Mine\n\n![{picture.in_words()}]({picture.PLACE})\n\nMore.\n"


def test_every_point_has_its_number_beside_it(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(picture.plt, "close", drawn.append)
    picture.draw_ladder(tmp_path / "ladder.png")
    (figure,) = drawn
    (axes,) = figure.axes
    points = {y: x for line in axes.lines for x, y in line.get_xydata()}
    numbers = {text.xy[1]: text.get_text() for text in axes.texts}
    names = [label.get_text() for label in axes.get_yticklabels()]
    for y, (words, rung) in enumerate(picture.rows()):
        assert (names[y], points[y], numbers[y]) == (words, rung.rate, three_digits(rung.rate))


def test_a_readme_without_the_picture_is_an_error(tmp_path, capsys):
    (tmp_path / "README.md").write_text("# Mine\n", encoding="utf-8")
    assert main(["picture"], tmp_path) == 1
    assert capsys.readouterr().err.startswith("error: README.md does not show")
