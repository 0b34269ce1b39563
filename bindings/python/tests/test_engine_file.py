"""An engine of a file, in place of a built-in one."""

import pytest
import rooflut

ENGINE = "name = 'mine'\ninherits = 'vllm-0.18.0'\n[constants]\nlayer = { value = 100, unit = 'us' }\n"


def test_a_deployment_takes_the_constants_of_the_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(ENGINE)
    own, shipped = (rooflut.Deployment(model="llama-3.1-8b", engine=str(engine)) for engine in (path, "vllm-0.18.0"))
    own, shipped = (it.step_times_ns(decode_requests=8, decode_kv_tokens=[8_000])[0] for it in (own, shipped))
    # 32 layers, each 90 us longer.
    assert int(own) - int(shipped) == pytest.approx(32 * 90_000, rel=0.2)


def test_a_constant_that_is_not_known_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(ENGINE.replace("layer", "lair"))
    with pytest.raises(rooflut.RooflutError, match='unknown constant "lair"'):
        rooflut.Deployment(model="llama-3.1-8b", engine=str(path))
