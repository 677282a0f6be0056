"""The app under test over both carriers, and the app of a clerk."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.support.carriers import APP, Api, direct_api, load_app, socket_api
from tests.support.desk import Desk
from tests.support.direct import DirectHost
from tests.support.exported_spans import Exported
from tests.support.identity_provider import IdentityProvider
from tests.support.running_host import RunningHost

CARRIERS = ["direct", pytest.param("socket", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def direct_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the app that is called directly keeps its log."""
    return tmp_path_factory.mktemp("direct")


@pytest.fixture(scope="session")
def direct_host(direct_folder: Path) -> DirectHost:
    """The app's functions behind the direct carrier, one app for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENT_LOG", f"sqlite:{direct_folder / 'log.sqlite'}")
        return DirectHost(load_app())


@pytest.fixture(scope="session")
def socket_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the app under test, with the state of its host."""
    return shutil.copytree(APP, tmp_path_factory.mktemp("socket") / "app")


@pytest.fixture(scope="session")
def socket_host(socket_folder: Path) -> Iterator[RunningHost]:
    """One process of the local host for all tests."""
    with RunningHost(socket_folder) as host:
        yield host


@pytest.fixture
async def direct(direct_host: DirectHost, direct_folder: Path) -> AsyncIterator[Api]:
    """The app under test, called directly."""
    opened = direct_api(direct_host, direct_folder / "log.sqlite")
    async with opened.http:
        yield opened


@pytest.fixture
async def socket(socket_host: RunningHost, socket_folder: Path) -> AsyncIterator[Api]:
    """The app under test, on the local host."""
    opened = socket_api(socket_host.origin, socket_folder / ".agents" / "log.sqlite")
    async with opened.http:
        yield opened


@pytest.fixture(params=CARRIERS)
async def api(request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    """The app under test, over each carrier in turn."""
    if request.param == "direct":
        folder: Path = request.getfixturevalue("direct_folder")
        opened = direct_api(request.getfixturevalue("direct_host"), folder / "log.sqlite")
    else:
        folder = request.getfixturevalue("socket_folder")
        opened = socket_api(request.getfixturevalue("socket_host").origin, folder / ".agents" / "log.sqlite")
    async with opened.http:
        yield opened


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """One process of the app, with its log in memory."""
    desk = Desk()
    async with desk.http:
        yield desk


@pytest.fixture(scope="session")
def exported() -> Exported:
    """What this process exports: the SDK is set up as an app's author does it, which a process can do once."""
    exporter = Exported()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exported: Exported) -> Iterator[Exported]:
    """The spans of one test."""
    exported.clear()
    yield exported
    exported.clear()


@pytest.fixture(scope="session")
def one_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProvider]:
    """An identity provider for all tests: to make its keys, and to end it, takes longer than most of them."""
    provider = IdentityProvider(tmp_path_factory.mktemp("provider"))
    yield provider
    provider.stop()


@pytest.fixture
def provider(one_provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch) -> IdentityProvider:
    """The same as if nobody had asked it yet; its certificate is trusted."""
    for noted in (one_provider.asked, one_provider.elsewhere, one_provider.identities):
        noted.clear()
    one_provider.spoil, one_provider.seconds = dict, 3600
    monkeypatch.setenv("SSL_CERT_FILE", str(one_provider.certificate))
    return one_provider
