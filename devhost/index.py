"""The functions of the app as the host knows them: names, triggers, what cannot be run here and why."""

from __future__ import annotations

import inspect
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from azure.functions.decorators.function_app import Function as DeclaredFunction

from devhost.bindings import (
    Binding,
    BlobTrigger,
    DurableTrigger,
    HttpTrigger,
    OtherTrigger,
    QueueTrigger,
    StorageBinding,
    Trigger,
    is_of_storage,
    is_trigger,
    parse_bindings,
    parse_storage,
    parse_trigger,
    public_name,
)
from devhost.converters import has_implicit_output
from devhost.errors import FunctionLoadError
from devhost.settings import HostSettings, is_disabled
from devhost.signature import Handler, HttpStyle, read_signature

_HOSTED_BINDINGS = frozenset({"durableclient", "http"})


@dataclass(frozen=True)
class Function:
    """One function, ready to be invoked.

    `output` is the converter's binding type for what the function answers, None when it answers nothing. `storage` are
    its blobs and queues, one of them may be for what it returns. `input_converter` is the binding type by which the SDK
    converts what the trigger brings.
    `not_run` is the reason why this host does not run it, None when it does.
    """

    name: str
    function_id: str
    directory: str
    script: str
    handler: Handler
    is_async: bool
    trigger: Trigger
    trigger_type: str
    trigger_parameter: str
    input_converter: str
    client_parameters: tuple[str, ...]
    storage: tuple[StorageBinding, ...]
    wants_context: bool
    http_style: HttpStyle | None
    output: str | None
    bindings: tuple[Mapping[str, object], ...]
    is_disabled: bool
    not_run: str | None

    @property
    def returns_to_storage(self) -> bool:
        """Return whether what the function returns is for a queue or a blob."""
        return any(binding.parameter == "$return" for binding in self.storage)


@dataclass(frozen=True)
class FunctionIndex:
    """All functions, ordered by upper-cased name, which is also the order in which routes are tried (2.1)."""

    functions: tuple[Function, ...]

    def running(self) -> Iterable[Function]:
        """Return the functions that this host runs."""
        return (function for function in self.functions if function.not_run is None)

    def uses_storage(self) -> bool:
        """Return whether any function reads or writes queues or blobs."""
        return any(
            function.storage or isinstance(function.trigger, (QueueTrigger, BlobTrigger)) for function in self.running()
        )

    def uses_durable(self) -> bool:
        """Return whether any function needs the durable engine, as its trigger or by a client input."""
        return any(
            isinstance(function.trigger, DurableTrigger) or function.client_parameters for function in self.running()
        )

    def speaks_protobuf(self) -> bool:
        """Return whether a durable trigger or client asks for gRPC: one is enough to switch all of the app's."""
        bindings = (binding for function in self.running() for binding in function.bindings)
        return any(binding.get("durableRequiresGrpc") is True for binding in bindings)


def build_index(
    declared: Iterable[DeclaredFunction], settings: HostSettings, environ: Mapping[str, str]
) -> FunctionIndex:
    """Return the index of the declared functions; raise `FunctionLoadError` for the first that cannot be indexed."""
    functions = sorted(
        (_index_function(function, settings, environ) for function in declared), key=lambda entry: entry.name.upper()
    )
    _refuse_same_names(functions)
    return FunctionIndex(tuple(functions))


def _refuse_same_names(functions: Iterable[Function]) -> None:
    """Refuse two functions under one name: names are compared without case (1.2)."""
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for function in functions:
        for kind, name in filter(None, (("function", function.name), public_name(function.trigger))):
            taken, by = seen.setdefault((kind, name.upper()), (name, function.name))
            if by != function.name:
                raise FunctionLoadError(
                    function.name, f"its name '{name}' meets '{taken}' of the function '{by}'. Rename one."
                )


def _index_function(declared: DeclaredFunction, settings: HostSettings, environ: Mapping[str, str]) -> Function:
    name = str(declared.get_function_name())
    handler = declared.get_user_function()
    bindings = parse_bindings(name, declared.get_raw_bindings(), environ)
    trigger_binding = _one_trigger(name, bindings)
    trigger = parse_trigger(name, trigger_binding)
    extension = "azurefunctions.extensions.http.fastapi" in sys.modules
    signature = read_signature(name, handler, bindings, has_streaming_extension=extension)
    disabled = is_disabled(name, environ)
    return Function(
        name=name,
        function_id=str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
        directory=str(settings.folder),
        script=settings.script,
        handler=handler,
        is_async=inspect.iscoroutinefunction(handler),
        trigger=trigger,
        trigger_type=str(trigger_binding.properties["type"]),
        trigger_parameter=trigger_binding.name,
        input_converter=signature.converters.get(trigger_binding.name, str(trigger_binding.properties["type"])),
        client_parameters=tuple(binding.name for binding in bindings if binding.type == "durableclient"),
        storage=tuple(
            parse_storage(name, binding, signature.converters.get(binding.name, binding.type))
            for binding in bindings
            if is_of_storage(binding)
        ),
        wants_context=signature.wants_context,
        http_style=signature.http_style,
        output=_output(bindings, trigger_binding),
        bindings=tuple(binding.properties for binding in bindings),
        is_disabled=disabled,
        not_run=_why_not_run(name, trigger, bindings, settings, disabled),
    )


def _one_trigger(name: str, bindings: Sequence[Binding]) -> Binding:
    triggers = [binding for binding in bindings if is_trigger(binding)]
    if len(triggers) == 1:
        return triggers[0]
    raise FunctionLoadError(name, f"it must have exactly one trigger, but has {len(triggers)}.")


def _output(bindings: Sequence[Binding], trigger: Binding) -> str | None:
    """Return the converter's name for the function's answer: `$return`'s type, else the trigger's own (1.5)."""
    explicit = next((binding for binding in bindings if binding.name == "$return"), None)
    if explicit:
        return None if is_of_storage(explicit) else str(explicit.properties["type"])
    trigger_type = str(trigger.properties["type"])
    return trigger_type if has_implicit_output(trigger_type) else None


def _why_not_run(
    name: str, trigger: Trigger, bindings: Sequence[Binding], settings: HostSettings, disabled: bool
) -> str | None:
    if disabled:
        return f"disabled by the setting AzureWebJobs.{name}.Disabled"
    if settings.only_functions is not None and name.upper() not in settings.only_functions:
        return "left out by 'functions' in host.json"
    if isinstance(trigger, OtherTrigger):
        return f"not run here: this host has no {trigger.type}"
    if isinstance(trigger, HttpTrigger) and trigger.route.lower().startswith("admin"):
        return "not reachable: a route must not begin with 'admin'"
    other = [
        binding
        for binding in bindings
        if not (is_trigger(binding) or binding.type in _HOSTED_BINDINGS or is_of_storage(binding))
    ]
    if other:
        return f"not run here: this host has no {other[0].properties['type']} binding"
    return None
