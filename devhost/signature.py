"""Check a function's Python signature against its bindings, as the worker does at indexing."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from azure.functions import HttpRequest, HttpResponse, Out

from devhost.bindings import Binding
from devhost.converters import GENERIC, converter_of, has_implicit_output
from devhost.errors import FunctionLoadError

Handler = Callable[..., Any]
HttpStyle = Literal["fastapi", "classic"]
_SPECIAL_FORMS = (typing.Union, tuple, typing.ClassVar, Callable)
_WRAPPED = ("client_function", "orchestrator_function", "entity_function", "__wrapped__")
_STREAMING_EXTENSION = "azurefunctions.extensions.http.fastapi"


@dataclass(frozen=True)
class Signature:
    """How a handler wants to be called: `wants_context` is for the invocation context, the style for HTTP only.

    `converters` are the binding types by which the SDK converts the parameters' values.
    """

    wants_context: bool
    http_style: HttpStyle | None
    converters: Mapping[str, str]


def read_signature(
    function_name: str, handler: Handler, bindings: Sequence[Binding], *, has_streaming_extension: bool
) -> Signature:
    """Return the handler's signature; raise `FunctionLoadError` when it does not fit."""
    parameters = set(inspect.signature(handler).parameters)
    annotations = _annotations(function_name, handler)
    bound = {binding.name: binding for binding in bindings if binding.name != "$return"}
    wants_context = "context" in parameters and "context" not in bound
    try:
        if wants_context:
            _check_context(annotations)
            parameters.discard("context")
        _check_names(parameters, set(bound))
        styles = [_check_input(bound[name], annotations, has_streaming_extension) for name in sorted(parameters)]
        style = next((style for style in styles if style), None)
        if any(binding.name == "$return" and binding.type == "http" for binding in bindings):
            _check_http_return(annotations, style)
    except _MismatchError as error:
        raise FunctionLoadError(function_name, str(error)) from error
    converters = {name: _converter(bound[name], annotations.get(name)) for name in parameters}
    return Signature(wants_context, style, converters)


def _converter(binding: Binding, annotation: Any) -> str:
    """Return the binding's type, or that of plain values for a parameter that is annotated as text or bytes."""
    binding_type = str(binding.properties["type"])
    value = _of_output(annotation) if binding.direction == "OUT" else annotation
    return GENERIC if value in (str, bytes) and not has_implicit_output(binding_type) else binding_type


def _of_output(annotation: Any) -> Any:
    """Return what stands in `Out[...]`, None where nothing does."""
    inner = typing.get_args(annotation)
    return inner[0] if inner else None


class _MismatchError(Exception):
    pass


def _annotations(function_name: str, handler: Handler) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(handler)
    except Exception as error:
        reason = f"its annotations cannot be resolved: {error}. Import the names they use."
        raise FunctionLoadError(function_name, reason) from error


def place_of(handler: Handler) -> str:
    """Return file and line of the user's own function under the SDK's wrappers."""
    code = handler
    while inner := next((getattr(code, name) for name in _WRAPPED if hasattr(code, name)), None):
        code = inner
    found = getattr(code, "__code__", None)
    return f"{found.co_filename}, line {found.co_firstlineno}" if found else "place unknown"


def _check_context(annotations: Mapping[str, Any]) -> None:
    annotation = annotations.get("context")
    if annotation is not None and getattr(annotation, "__name__", "") != "Context":
        raise _MismatchError("the parameter 'context' is not bound, so it must be annotated azure.functions.Context.")


def _check_names(parameters: set[str], bound: set[str]) -> None:
    if unbound := sorted(parameters - bound):
        raise _MismatchError(f"these parameters have no binding: {', '.join(unbound)}. Bind or remove them.")
    if missing := sorted(bound - parameters):
        raise _MismatchError(f"these bindings have no parameter: {', '.join(missing)}. Add them to the function.")


def _check_input(binding: Binding, annotations: Mapping[str, Any], has_streaming_extension: bool) -> HttpStyle | None:
    annotation = annotations.get(binding.name)
    if binding.direction == "OUT":
        _check_output(binding, annotation)
        return None
    if annotation is not None and not _is_checkable(annotation):
        raise _MismatchError(f"the parameter '{binding.name}' must be annotated with a class, not {annotation!r}.")
    if binding.type == "httptrigger":
        return _http_style(binding.name, annotation, has_streaming_extension)
    if annotation is not None and not _accepts(binding, annotation):
        wanted = f"an input of type {binding.properties['type']} cannot be given as '{annotation.__name__}'"
        raise _MismatchError(f"the parameter '{binding.name}': {wanted}. Leave its annotation away.")
    return None


def _check_output(binding: Binding, annotation: Any) -> None:
    if annotation is None:
        return
    value = _of_output(annotation)
    shown = f"the parameter '{binding.name}'"
    if typing.get_origin(annotation) is not Out or value is None:
        raise _MismatchError(f"{shown} must be annotated azure.functions.Out[...], not {annotation!r}.")
    if not _is_checkable(value):
        raise _MismatchError(f"{shown} must be annotated with a class or typing.List[...] in Out, not {value!r}.")
    if not _accepts_output(binding, value):
        kind = binding.properties["type"]
        raise _MismatchError(f"{shown}: an output of type {kind} cannot be set as {annotation!r}. Use Out[str].")


def _accepts_output(binding: Binding, annotation: Any) -> bool:
    binding_type = binding.properties["type"]
    converter = converter_of(binding_type)
    if converter is None or annotation in (str, bytes):
        return True
    try:
        return bool(converter.check_output_type_annotation(annotation))
    except TypeError:
        return False


def _is_checkable(annotation: object) -> bool:
    """The worker takes classes and the generics of `typing` (`Dict[str, int]`); no unions, no `dict[str, int]`."""
    origin = typing.get_origin(annotation)
    if origin is None:
        return isinstance(annotation, type)
    return type(annotation).__module__ == "typing" and origin not in _SPECIAL_FORMS


def _accepts(binding: Binding, annotation: Any) -> bool:
    binding_type = binding.properties["type"]
    converter = converter_of(binding_type)
    if converter is None or (annotation in (str, bytes) and not has_implicit_output(binding_type)):
        return True
    try:
        return bool(converter.check_input_type_annotation(annotation))
    except TypeError:
        return False


def _http_style(name: str, annotation: Any, has_streaming_extension: bool) -> HttpStyle:
    if annotation is None:
        return "fastapi" if has_streaming_extension else "classic"
    if not isinstance(annotation, type):
        raise _MismatchError(f"the parameter '{name}' must be annotated with a class, not {annotation!r}.")
    if issubclass(annotation, HttpRequest):
        return "classic"
    if has_streaming_extension and _is_fastapi_request(annotation):
        return "fastapi"
    wanted = f"azure.functions.HttpRequest or {_STREAMING_EXTENSION}.Request"
    raise _MismatchError(f"the parameter '{name}' must be annotated {wanted}, not '{annotation.__name__}'.")


def _is_fastapi_request(annotation: type) -> bool:
    from azurefunctions.extensions.base import RequestTrackerMeta

    return bool(RequestTrackerMeta.check_type(annotation))


def _check_http_return(annotations: Mapping[str, Any], style: HttpStyle | None) -> None:
    annotation = annotations.get("return")
    if "return" not in annotations:
        return
    if isinstance(annotation, type) and _may_return(annotation, style):
        return
    name = getattr(annotation, "__name__", repr(annotation))
    raise _MismatchError(f"its return annotation '{name}' does not fit an HTTP response.")


def _may_return(annotation: type, style: HttpStyle | None) -> bool:
    if style != "fastapi":
        return issubclass(annotation, (HttpResponse, str))
    from azurefunctions.extensions.base import ResponseTrackerMeta

    return bool(ResponseTrackerMeta.check_type(annotation))
