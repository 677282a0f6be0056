"""What somebody who opens the page in a browser is promised (issue 47)."""

BEHAVIOURS = {
    "page.files": "The page is a fixed table of files behind relative URLs, kept by browsers under names made of their "
    "contents, and deployed with the app.",
    "page.safe": "The page's policy lets no script, style or connection in or out but the app's own, and none of its "
    "files reads text as code.",
    "page.small": "The page is less than 60 kB, compressed.",
    "page.where": "The page is there in development, and in production where the app asks for it.",
}
