"""The name under which an idempotency key's receipt is stored: keys are callers' words, and outlive their thread."""

from __future__ import annotations

import hashlib


def receipt_digest(receipt: str) -> str:
    """Return the SHA-256 of a receipt, in hexadecimal."""
    return hashlib.sha256(receipt.encode()).hexdigest()
