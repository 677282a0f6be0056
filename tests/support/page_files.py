"""The files of the page, of all folders that have some."""

from hosting.assembly import FEATURES
from hosting.http.page import FOLDER

FOLDERS = [FOLDER, *(feature.page for feature in FEATURES if feature.page is not None)]
FILES = sorted((path for folder in FOLDERS for path in folder.iterdir()), key=lambda path: path.name)
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
