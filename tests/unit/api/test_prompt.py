"""What is kept of a model beside what it serves by: of the one that serves, and of nobody else."""

import gc
import io
import weakref
from dataclasses import replace
from pathlib import Path

from ignis.app import _App
from ignis.config import load_config
from ignis.log import LogFormat, open_log
from tests.fakes.engine import byte_model, script
from tests.unit.api.rig import Rig

THINKING = "{{ enable_thinking }}{{ messages[0].content }}</think>"


async def test_a_model_that_may_be_refused_yet_takes_nothing_of_the_one_that_serves(tmp_path: Path) -> None:
    log = open_log(io.StringIO(), LogFormat.JSON, "info")
    app = _App(load_config(["--download-path", str(tmp_path)], {}, tmp_path), log)
    serving, tried = byte_model(), replace(byte_model("other"), device="")
    await app._prepare(serving)
    template = await app._prompts.template(serving)
    await app._prepare(tried)
    assert await app._prompts.template(serving) is template
    # Once it serves it is in its place.
    await app._prepare(replace(tried, device="cpu"))
    assert app._prompts._template is not None and app._prompts._template[0].name == "other"


async def test_nothing_is_left_of_a_model_that_is_forgotten() -> None:
    model = byte_model(template=THINKING)
    rig = Rig(script("a</think>b"), model=replace(model, max_context=16384))
    await rig.chat(max_tokens=8000)
    assert rig.engine.submissions[-1].constraint is not None
    tokenizer = weakref.ref(model.tokenizer)
    del model
    rig.keeper.course.model = None
    rig.engine.submissions.clear()
    rig.engine._running.clear()
    rig.prompts.forget()
    gc.collect()
    assert tokenizer() is None
