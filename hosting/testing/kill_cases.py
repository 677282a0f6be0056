"""`killed_at`: one test, run without a kill and then once for each moment of its app, which is killed there.

Theory. The first run learns the steps: the records that the app appended to its log, as the test had them. Each of the
others is a test of its own, with fixtures of its own, named by its moment. Its process is killed there by itself, and
another one is started, while the test goes on. So the test asserts what it asserts anyway. Two things are asserted
besides: that the kill came, and that no call of a tool that is not idempotent was made twice.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from hosting.testing.agent_app import AgentApp
    from hosting.testing.case import AppCase, Kill

MARK = "killed_at"
MEANING = (
    "run the test once more for each step of its app, and kill the app there; "
    "'each step', or a moment as 'before the end of the run was recorded'"
)
EACH_STEP = "each step"
APP: pytest.StashKey[AgentApp] = pytest.StashKey()
FAILED: pytest.StashKey[bool] = pytest.StashKey()
_NAMED = re.compile(r"(?P<test>.+)\[killed (?P<moment>(?:before|after) .+ was recorded)\]")
_RECORDED, _OF = " was recorded", " of "
_KILL: pytest.StashKey[Kill | None] = pytest.StashKey()
_CASES: pytest.StashKey[list[pytest.Item]] = pytest.StashKey()
"""The kill of a test (None: its first run), and the tests that follow the first run."""


def add_kill_options(group: pytest.OptionGroup) -> None:
    """Add the options by which some of the kills are chosen."""
    group.addoption(
        "--killed-at",
        action="append",
        default=[],
        metavar="MOMENT",
        help="of tests that are marked killed_at, kill at this moment alone; may be repeated",
    )
    group.addoption(
        "--killed-at-most",
        type=int,
        default=0,
        metavar="N",
        help="of each test that is marked killed_at, take N kills, spread over its run (default: all)",
    )


def take_named(config: pytest.Config) -> None:
    """Have pytest collect the test of each kill that the command line names, and take these kills of it alone."""
    for place, argument in enumerate(config.args):
        if named := _NAMED.fullmatch(argument):
            config.args[place] = named["test"]
            config.option.killed_at.append(f"{named['moment']}{_OF}{named['test'].replace(os.sep, '/')}")


def add_keywords(item: pytest.Item) -> None:
    """Give a marked test the words of its kills, where `-k` asks for words: its kills are chosen by them later."""
    if item.config.getoption("keyword") and item.get_closest_marker(MARK) is not None:
        from hosting.testing.case import WORDS

        item.extra_keyword_matches.update(WORDS)


class _Following(pytest.Item):
    """The test after the first run, for pytest, which takes down what that does not need: a kill, if there is any."""

    def __init__(self, *, first: pytest.Item, last: pytest.Item | None, **named: Any) -> None:
        super().__init__(**named)
        self._first, self._last = first, last

    def listchain(self) -> list[Any]:
        """Return what the test that follows needs."""
        cases = self._first.stash.get(_CASES, None)
        following = cases[0] if cases else self._last
        return [] if following is None else following.listchain()

    def runtest(self) -> None:
        """Raise: pytest never runs it."""
        raise NotImplementedError


def run_all(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test and its kills, and return True; None for another test, which pytest runs."""
    if item.get_closest_marker(MARK) is None or _KILL in item.stash:
        return None
    if not isinstance(item, pytest.Function) or item.parent is None:
        return None
    item.stash[_KILL] = None
    run = item.config.hook.pytest_runtest_protocol
    run(item=item, nextitem=_Following.from_parent(item.parent, name=item.name, first=item, last=nextitem))
    cases, session = item.stash.get(_CASES, []), item.session
    session.testscollected += len(cases)
    place = session.items.index(item)
    for case, following in zip(cases, [*cases[1:], nextitem], strict=False):
        if session.shouldfail or session.shouldstop:
            break
        session.items[place] = case  # pytest-xdist takes reports of the test at this place alone
        run(item=case, nextitem=following)
    session.items[place] = item
    return True


def prepare_kill(item: pytest.Item, case: AppCase) -> None:
    """Write for the app of a test when it is to be killed, if it is."""
    kill = item.stash.get(_KILL, None)
    if kill is not None:
        case.kills.add(kill)


def checked(item: pytest.Function) -> Iterator[None]:
    """Call the test, and fail it where its app shows something that is wrong. Around `pytest_pyfunc_call`."""
    try:
        result = yield
        app = item.stash.get(APP, None)
        case = None if app is None else app.case
        if case is not None:
            _check_script(case)
        if _KILL in item.stash:
            _check_kill(item, case)
    except pytest.skip.Exception:
        raise
    except BaseException as error:
        item.stash[FAILED] = True
        app = item.stash.get(APP, None)
        if app is not None:
            for title, lines in (("the process that ended", app.printed_before), ("the process", app.printed)):
                if lines:
                    item.add_report_section("call", f"agent_app, {title}", "\n".join(lines))
        if app is not None and app.case is not None and isinstance(error, Exception):
            _check_script(app.case)
        raise
    return result


def _check_script(case: AppCase) -> None:
    """Fail for a question of an agent for which the script had no answer."""
    unanswered = {given.agent: None for given in case.answers.read() if given.place is None}
    if unanswered:
        names = ", ".join(map(repr, unanswered))
        pytest.fail(
            f"The model was asked once more by {names}, and its script has no answer left: add one.", pytrace=False
        )


def _check_kill(item: pytest.Function, case: AppCase | None) -> None:
    """Fail for a tool that was called twice, and a kill that did not come. Note the kills that follow the first run."""
    if case is None:
        pytest.fail(f"A test that is marked {MARK} asks its app something: use the fixture ask.", pytrace=False)
    counts = Counter((call.tool, call.call) for call in case.calls.read() if not call.is_idempotent)
    for (tool, _), count in counts.items():
        if count > 1:
            sentence = (
                f"The tool {tool!r} was called {count} times for one call of the model, and it is not idempotent."
            )
            pytest.fail(sentence, pytrace=False)
    kill = item.stash[_KILL]
    if kill is None:
        cases: list[pytest.Item] = [_case(item, each) for each in _kills(item, case)]
        marks = item.config.pluginmanager.get_plugin("mark")
        if marks is not None:  # by -k and -m, which pytest has asked of the first run already
            marks.pytest_collection_modifyitems(cases, item.config)
        item.stash[_CASES] = cases
    elif kill not in case.killed.read():
        pytest.fail(f"The app was not killed {kill.moment}: in this run that record did not come.", pytrace=False)


def _kills(item: pytest.Function, case: AppCase) -> Sequence[Kill]:
    """Return the kills that the mark wants, of all those that the first run shows."""
    from hosting.testing.case import Kill

    found = [Kill(side, step) for step in dict.fromkeys(case.steps.read()) for side in ("before", "after")]
    mark = item.get_closest_marker(MARK)
    wanted = EACH_STEP if mark is None or not mark.args else str(mark.args[0])
    chosen = [kill for kill in found if wanted in (EACH_STEP, kill.moment)]
    if not chosen:
        _refuse([wanted], found)
    return _chosen(item, chosen)


def _refuse(wanted: Sequence[str], kills: Sequence[Kill]) -> NoReturn:
    moments = "".join(f"\n  {kill.moment}" for kill in kills) or " none"
    words = ", ".join(map(repr, wanted))
    pytest.fail(f"{MARK}({words}) is no moment of this test. It has these:{moments}", pytrace=False)


def _chosen(item: pytest.Function, kills: Sequence[Kill]) -> Sequence[Kill]:
    """Return the kills that the command line takes of those: by its names of moments and tests, and as many."""
    named, moments = list(kills), []
    for wanted in item.config.getoption("killed_at"):
        moment, _, test = str(wanted).partition(_RECORDED + _OF)
        if item.nodeid.endswith(test.rpartition("/")[2]):
            moments.append(moment.removesuffix(_RECORDED) + _RECORDED)
    if moments:
        named = [kill for kill in kills if kill.moment in moments]
        if not named:
            _refuse(moments, kills)
    most = item.config.getoption("killed_at_most") or len(named)
    return named if most >= len(named) else [named[number * len(named) // most] for number in range(most)]


def _case(item: pytest.Function, kill: Kill) -> pytest.Function:
    """Return the test with this kill: the same function, with fixtures of its own."""
    moment = f"[killed {kill.moment}]"
    case = type(item).from_parent(
        item.parent,
        name=item.name + moment,
        callobj=item.obj,
        callspec=getattr(item, "callspec", None),
        fixtureinfo=item._fixtureinfo,
        originalname=(item.originalname or item.name) + moment,
    )
    case.own_markers[:] = item.own_markers
    case.stash[_KILL] = kill
    return case
