"""A blob's properties as the real host shows them to a function: its SDK's names, nulls included."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azure.storage.blob import BlobProperties

_NEVER = "0001-01-01T00:00:00+00:00"
_BLOB_TYPES = {"BlockBlob": 0, "PageBlob": 1, "AppendBlob": 2}
_LEASE_STATES = {"available": 0, "leased": 1, "expired": 2, "breaking": 3, "broken": 4}
_LEASE_STATUSES = {"locked": 0, "unlocked": 1}


_RECORDED: Mapping[str, object] = {
    "LastModified": None,
    "CreatedOn": None,
    "Metadata": None,
    "ObjectReplicationDestinationPolicyId": None,
    "ObjectReplicationSourceProperties": None,
    "BlobType": None,
    "CopyCompletedOn": _NEVER,
    "CopyStatusDescription": None,
    "CopyId": None,
    "CopyProgress": None,
    "CopySource": None,
    "CopyStatus": 0,
    "BlobCopyStatus": None,
    "IsIncrementalCopy": False,
    "DestinationSnapshot": None,
    "LeaseDuration": 0,
    "LeaseState": None,
    "LeaseStatus": None,
    "ContentLength": None,
    "ContentType": None,
    "ETag": {},
    "ContentHash": None,
    "ContentEncoding": None,
    "ContentDisposition": None,
    "ContentLanguage": None,
    "CacheControl": None,
    "BlobSequenceNumber": 0,
    "AcceptRanges": "bytes",
    "BlobCommittedBlockCount": 0,
    "IsServerEncrypted": True,
    "EncryptionKeySha256": None,
    "EncryptionScope": None,
    "AccessTier": "Hot",
    "AccessTierInferred": True,
    "ArchiveStatus": None,
    "AccessTierChangedOn": None,
    "VersionId": None,
    "IsLatestVersion": False,
    "TagCount": 0,
    "ExpiresOn": _NEVER,
    "IsSealed": False,
    "RehydratePriority": None,
    "LastAccessed": _NEVER,
    "ImmutabilityPolicy": {"ExpiresOn": None, "PolicyMode": None},
    "HasLegalHold": False,
}
"""All members in their order, those that a laptop's storage never has as recorded."""


def properties_json(properties: BlobProperties) -> str:
    """Return the 45 members as JSON."""
    settings, lease = properties.content_settings, properties.lease
    content_hash = settings.content_md5
    modified = _moment(properties.last_modified)
    members: dict[str, object] = {
        **_RECORDED,
        "LastModified": modified,
        "CreatedOn": _moment(properties.creation_time),
        "Metadata": properties.metadata or {},
        "BlobType": _BLOB_TYPES.get(_text(properties.blob_type), 0),
        "LeaseState": _LEASE_STATES.get(_text(lease.state), 0),
        "LeaseStatus": _LEASE_STATUSES.get(_text(lease.status), 1),
        "ContentLength": properties.size,
        "ContentType": settings.content_type,
        "ContentHash": base64.b64encode(bytes(content_hash)).decode() if content_hash else None,
        "ContentEncoding": settings.content_encoding,
        "ContentDisposition": settings.content_disposition,
        "ContentLanguage": settings.content_language,
        "CacheControl": settings.cache_control,
        "AccessTierChangedOn": modified,
    }
    return json.dumps(members, ensure_ascii=False)


def _text(value: object) -> str:
    return str(getattr(value, "value", value))


def _moment(moment: datetime | None) -> str:
    return moment.isoformat() if moment else _NEVER
