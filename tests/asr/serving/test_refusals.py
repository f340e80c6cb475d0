from pathlib import Path

from asr.serving.refusals import BUSY, Refusal, told
from foundation.errors import AsrError


def test_no_path_is_told() -> None:
    error = AsrError("/srv/x/u.wav: no samples; see /srv/x/u.wav")
    assert told(error, Path("/srv/x/u.wav"), "u") == "u: no samples; see u"
    assert told(error) == str(error)


def test_a_refusal_is_unusable_unless_it_says_otherwise() -> None:
    assert (Refusal("no").status, Refusal("no", BUSY).status) == (422, 503)
