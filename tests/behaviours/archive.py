"""What long threads promise: their older part is kept elsewhere, and nobody who reads them can tell."""

BEHAVIOURS = {
    "archive.keeps-entries": "An entry that was put is read back by every process as the JSON text that it was.",
    "archive.put-again": "Entries put again under their positions replace themselves and nothing else, however they "
    "were cut; a late writer takes nothing away.",
    "archive.tells-what-is-missing": "An entry that the archive lacks is named, and never left out without a word.",
    "archive.erases": "What is erased of a thread is in no file of the archive, and no other thread loses anything.",
    "archive.unavailable": "An archive that cannot be reached is reported as such and tried again by the next call.",
}
