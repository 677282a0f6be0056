"""The features of an app: the one place that names them all."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hosting.core.services import Services
from hosting.errors import ConfigurationError
from hosting.feature import CarriesFiles, Feature, WireFeature, thread_data_of
from hosting.features.a2a.feature import A2AFeature
from hosting.features.ag_ui.feature import AgUiFeature
from hosting.features.ai_sdk.feature import AiSdkFeature
from hosting.features.approvals.approvals import Approvals
from hosting.features.approvals.feature import ApprovalsFeature
from hosting.features.background.feature import BackgroundFeature
from hosting.features.batch.feature import BatchFeature
from hosting.features.callbacks.feature import CallbacksFeature
from hosting.features.chat_completions.feature import ChatCompletionsFeature
from hosting.features.feedback.feature import FeedbackFeature
from hosting.features.files.feature import FilesFeature
from hosting.features.forks.feature import ForksFeature
from hosting.features.forks.forking import Forking
from hosting.features.health.feature import HealthFeature
from hosting.features.instances.feature import InstancesFeature
from hosting.features.mcp.feature import McpFeature
from hosting.features.mcp_endpoint.feature import McpEndpointFeature
from hosting.features.memory.feature import MemoryFeature
from hosting.features.metadata.feature import MetadataFeature
from hosting.features.metering.feature import MeteringFeature
from hosting.features.overview.feature import OverviewFeature
from hosting.features.owners.feature import OwnerSettings, OwnersFeature
from hosting.features.pausing.feature import PausingFeature
from hosting.features.pausing.pausing import Pausing
from hosting.features.progress.feature import ProgressFeature
from hosting.features.responses.feature import ResponsesFeature
from hosting.features.schedules.feature import SchedulesFeature
from hosting.features.search.feature import SearchFeature
from hosting.features.thread_state.feature import ThreadStateFeature
from hosting.features.triggers.feature import TriggersFeature
from hosting.features.uploads.feature import UploadsFeature
from hosting.features.webhooks.feature import WebhooksFeature
from hosting.features.webhooks.rules import WebhookSettings
from hosting.features.workflows.feature import WorkflowsFeature
from hosting.http.access import Access, OpenAccess
from hosting.http.runs import Starting
from hosting.http.threads import exports_of
from hosting.http.verbs import BeginsThreads, KeepsFiles
from hosting.http.wire import WireVerbs
from hosting.plan import Plan, is_of_workflow
from hosting.principal import PrincipalResolver, checked_resolver
from hosting.settings import AllSettings, Settings, SettingsPart
from hosting.workflows import HostedWorkflow

if TYPE_CHECKING:
    from hosting.features.search.engine import SearchEngine

FEATURES: Sequence[type[Feature]] = (
    WorkflowsFeature,
    SchedulesFeature,
    MemoryFeature,
    MeteringFeature,
    CallbacksFeature,
    WebhooksFeature,
    OverviewFeature,
    MetadataFeature,
    ProgressFeature,
    PausingFeature,
    SearchFeature,
    ApprovalsFeature,
    McpFeature,
    ForksFeature,
    FeedbackFeature,
    ThreadStateFeature,
    BatchFeature,
    FilesFeature,
    UploadsFeature,
    BackgroundFeature,
    InstancesFeature,
    TriggersFeature,
    ResponsesFeature,
    ChatCompletionsFeature,
    A2AFeature,
    AgUiFeature,
    AiSdkFeature,
    McpEndpointFeature,
    HealthFeature,
    OwnersFeature,
)
SETTINGS: Sequence[type[SettingsPart]] = (
    Settings,
    *(feature.settings for feature in FEATURES if feature.settings is not None),
)
"""All parts of an app's settings, in the order in which a wrong one is refused."""

WIRES = tuple(feature.wire for feature in FEATURES if issubclass(feature, WireFeature))


_LENT = {
    "SKIP": "hosting.features.triggers.trigger",
    "AgentCallbackContext": "hosting.features.callbacks.callbacks",
    "AgentRequest": "hosting.features.triggers.trigger",
    "AgentResponseCallbackProtocol": "hosting.features.callbacks.callbacks",
    "AgentRun": "hosting.features.triggers.client",
    "Budget": "hosting.features.metering.budgets",
    **dict.fromkeys(
        ("ChunkIndex", "ChunkQuery", "FoundChunk", "IndexedChunk", "IndexSpace"),
        "hosting.features.uploads.search.index.contract",
    ),
    "FileSearch": "hosting.features.uploads.search.provider",
    "Limit": "hosting.features.metering.limits",
    "OwnerMemory": "hosting.features.memory.provider",
    "SearchHit": "hosting.features.search.engine",
    "SearchQuery": "hosting.features.search.engine",
    "ThreadPlace": "hosting.features.search.engine",
    "ThreadText": "hosting.features.search.engine",
    "Price": "hosting.features.metering.budgets",
    "WorkflowHitlContext": "hosting.features.workflows.hitl_context",
}
"""The names of features that `hosting.app` has too, and their modules: an app that uses none imports none."""


def lent_name(module: str, name: str) -> Any:
    """Return what features lend to the module under this name; raise `AttributeError` for another one."""
    if name not in _LENT:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(import_module(_LENT[name]), name)


def make_plan(principal: PrincipalResolver | None, *, requires_key: bool) -> Plan:
    """Return the plan of an app, without agents yet; raises `ConfigurationError` for a resolver that is none."""
    scheme = getattr(checked_resolver(principal), "sign_in_scheme", None)
    return Plan(has_owners=principal is not None, requires_key=requires_key, sign_in_scheme=scheme)


def workflows_of(workflow: object, workflows: object) -> Sequence[HostedWorkflow]:
    """Return the workflows that an app is given; raises `ConfigurationError` for one that cannot be hosted."""
    if workflow is None and workflows is None:
        return ()
    from hosting.features.workflows.given import hosted_workflows

    return hosted_workflows(workflow, workflows)


def as_hosted(agent: Any, name: str | None = None) -> Any:
    """Return what is hosted for an agent: the workflow that it stands for (`as_agent()`), or the agent itself."""
    if isinstance(agent, HostedWorkflow) or not is_of_workflow(agent):
        return agent
    from hosting.features.workflows.as_agent import hosted_as_agent

    return hosted_as_agent(agent, name)


class FeatureOptions(Struct, frozen=True):
    """The options of an app that its features have, by the names that they have there; `wires` are other protocols."""

    principal: PrincipalResolver | None
    wires: Sequence[str]
    search: SearchEngine | None
    has_health: bool
    health_lists_agents: bool


def make_features(
    services: Services, plan: Plan, all_settings: AllSettings, options: FeatureOptions, workflows: Sequence[str]
) -> Sequence[Feature]:
    """Return the features of one app, also those that are off. Each is given what it needs, and no more.

    Raises `ConfigurationError` for a name that is no wire's, and for a search engine that is none.
    """
    cells, log, runs, holders = services.cells, services.log, services.runs, services.holders
    threads, stores, settings = services.threads, services.stores, services.settings
    own, most_bytes = all_settings.of, settings.max_body_bytes
    webhooks = _webhooks(services, plan, own(WebhooksFeature.settings))
    feedback = FeedbackFeature(log, stores, runs, webhooks.webhooks, most_bytes=most_bytes)
    state, search = ThreadStateFeature(services), SearchFeature(cells, log, threads, stores, options.search)
    uploads = UploadsFeature(services, own(UploadsFeature.settings))
    overview = _overview(services, plan, feedback, search, most_bytes)
    pausing = Pausing(runs, services.promised, log)
    approvals, forks = Approvals(log, runs, holders, services.agents), _forks(services, uploads, most_bytes)
    background = BackgroundFeature(log, runs, threads, stores, held=holders.held, plan=plan)
    parts = _WireParts(approvals, forks, overview, webhooks, state, uploads)
    features = (
        WorkflowsFeature(services.loop, services.route_prefix),
        SchedulesFeature(cells, runs, plan, log.clocks, settings, own_settings=own(SchedulesFeature.settings)),
        MemoryFeature(cells, log, holders.held, plan, most_bytes),
        MeteringFeature(stores.threads, log, holders.held, background.usage),
        CallbacksFeature(log, own(CallbacksFeature.settings)),
        webhooks,
        overview,
        MetadataFeature(threads, log, most_bytes),
        ProgressFeature(),
        PausingFeature(pausing),
        search,
        ApprovalsFeature(approvals, services, most_bytes),
        McpFeature(runs, own(McpFeature.settings), most_bytes, options.principal),
        forks,
        feedback,
        state,
        BatchFeature(Starting(services), runs, settings, own(BatchFeature.settings)),
        FilesFeature(cells, stores, log, holders.held, plan),
        uploads,
        background,
        InstancesFeature(runs, threads, approvals, settings, workflows),
        TriggersFeature(services, plan, pausing),
        *_wires(services, plan, options.wires, parts),
        _health(services, plan, options),
    )
    services.thread_data += thread_data_of(features)
    return (*features, _owners(services, plan, own(OwnersFeature.settings), options.principal, features, files=uploads))


def _health(services: Services, plan: Plan, options: FeatureOptions) -> HealthFeature:
    return HealthFeature(
        services.cells,
        services.log,
        services.admits,
        plan,
        is_on=options.has_health,
        lists_agents=options.health_lists_agents,
    )


def _webhooks(services: Services, plan: Plan, own_settings: WebhookSettings) -> WebhooksFeature:
    """Return the webhooks, by whose rules the plan has addresses."""
    webhooks = WebhooksFeature(services.log, services.stores, services.runs, services.route_prefix, own_settings)
    plan.addresses = webhooks.rules
    return webhooks


def _overview(
    services: Services, plan: Plan, feedback: FeedbackFeature, search: SearchFeature, most_bytes: int
) -> OverviewFeature:
    """Return the overviews; a body has `most_bytes` at most."""
    return OverviewFeature(
        services.cells,
        services.log,
        services.holders,
        services.promised,
        plan,
        threads=services.threads,
        search=search,
        rotation=services.rotation("overview"),
        most_bytes=most_bytes,
        feedback=feedback.of_days,
    )


def _forks(services: Services, files: CarriesFiles, most_bytes: int) -> ForksFeature:
    """Return the forks, with which `files` go along; a body has `most_bytes` at most."""
    log, threads, stores, publish = services.log, services.threads, services.stores, services.holders.publish
    forking = Forking(log, threads, services.archiver, services.attachments, stores, files=files, publish=publish)
    return ForksFeature(forking, services.runs, most_bytes)


class _WireParts(Struct, frozen=True):
    """What other features do for the other protocols."""

    approvals: Approvals
    forks: ForksFeature
    overview: OverviewFeature
    webhooks: WebhooksFeature
    begins: BeginsThreads
    files: KeepsFiles


def _wires(services: Services, plan: Plan, names: Sequence[str], parts: _WireParts) -> Sequence[WireFeature]:
    """Return the other protocols, also those that the app does not name; raises as `make_features`."""
    _check_wires(names)
    verbs = WireVerbs(
        plan,
        services.settings,
        services.runs,
        services.following,
        parts.approvals,
        services.log,
        names_causes=services.loop.names_causes,
    )
    newest, large_reads = parts.overview.newest, services.large_reads
    return (
        ResponsesFeature(
            names, verbs, services.threads, parts.forks.older_runs, newest, large_reads, parts.begins, parts.files
        ),
        ChatCompletionsFeature(names, verbs, services.threads),
        A2AFeature(names, verbs, services.care, newest, large_reads, parts.webhooks.receivers),
        AgUiFeature(names, verbs, services.threads, services.archiver),
        AiSdkFeature(names, verbs, services.threads, services.archiver),
        McpEndpointFeature(names, verbs, services.care, newest, services.threads, large_reads),
    )


def _owners(
    services: Services,
    plan: Plan,
    own_settings: OwnerSettings,
    resolver: PrincipalResolver | None,
    others: Sequence[Feature],
    *,
    files: CarriesFiles,
) -> OwnersFeature:
    """Return the feature of owners, which exports and erases what the others keep."""
    if resolver is None:
        return OwnersFeature(None, None)
    from hosting.features.owners.access import OwnerAccess
    from hosting.features.owners.exports import OwnerExports
    from hosting.features.owners.http import OwnerHandlers
    from hosting.features.owners.owners import Owners
    from hosting.features.owners.sharing import Sharing
    from hosting.user_tokens import OnBehalfOf

    log, data = services.log, [part for feature in others if (part := feature.owner_data())]
    threads, purging, stores = services.threads, services.purging, services.stores
    owners = Owners(log, threads, purging, stores, services.absent.has, data=data, files=files)
    sharing = Sharing(log)
    handlers = OwnerHandlers(
        owners,
        sharing,
        OwnerExports(owners, exports_of(services, plan)),
        plan,
        services.settings,
        starting=Starting(services),
        thread_data=services.thread_data,
    )
    tokens = resolver if isinstance(resolver, OnBehalfOf) else None
    return OwnersFeature(OwnerAccess(resolver, own_settings.admin_role, sharing), handlers, tokens)


def access_of(features: Sequence[Feature]) -> Access:
    """Return the rules of access of the feature that has them; without one the app's are open."""
    return next((access for feature in features if (access := feature.access()) is not None), OpenAccess())


def triggers_of(features: Sequence[Feature]) -> TriggersFeature:
    """Return the feature by which functions of the user's own begin runs."""
    return next(feature for feature in features if isinstance(feature, TriggersFeature))


def _check_wires(names: Sequence[str]) -> None:
    """Raise `ConfigurationError` for a name that is no wire's, with the nearest that is one."""
    if isinstance(names, str):
        raise ConfigurationError(f"wires is the text {names!r:.80}. Give a list of names, such as wires=['responses'].")
    for name in names:
        if name not in WIRES:
            near = difflib.get_close_matches(str(name), WIRES, n=1)
            advice = f"Did you mean {near[0]!r}?" if near else f"Wires: {', '.join(map(repr, WIRES))}."
            raise ConfigurationError(f"There is no wire {name!r:.80}. {advice}")
