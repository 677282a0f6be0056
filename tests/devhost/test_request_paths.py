"""Request paths before routing, as recorded."""

from __future__ import annotations

import pytest

from devhost.http.routes import BadPathError, clean_path, decode_path


@pytest.mark.behaviour("devhost.paths-as-recorded")
@pytest.mark.parametrize(
    ("sent", "routed"),
    [
        (b"/api/req/a/../b", "/api/req/b"),
        (b"/api/req/a/./b", "/api/req/a/b"),
        (b"/api/req/%2e%2e/b", "/api/b"),
        (b"/../../api", "/api"),
        (b"/api/a.b", "/api/a.b"),
        (b"/api/.hidden", "/api/.hidden"),
    ],
)
def test_dot_segments_are_resolved_before_routing(sent, routed):
    """Encoded dots count as dots; a path cannot leave the root."""
    assert clean_path(sent) == routed


@pytest.mark.behaviour("devhost.paths-as-recorded")
@pytest.mark.parametrize("sent", [b"/api/a%00b", "/api/é".encode()])
def test_a_path_with_a_nul_or_raw_non_ascii_is_refused(sent):
    """The real host answers 400."""
    with pytest.raises(BadPathError):
        clean_path(sent)


@pytest.mark.behaviour("devhost.paths-as-recorded")
@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("/b%2Fob%20x%C3%A9", "/b%2Fob xé"),
        ("/a%2fb", "/a%2fb"),
        ("/%zz", "/%zz"),
        ("/%ff", "/%ff"),
        ("/a+b;c=d", "/a+b;c=d"),
    ],
)
def test_values_are_decoded_except_for_encoded_slashes(sent, read):
    """What is no valid code stays as it was sent."""
    assert decode_path(sent) == read
