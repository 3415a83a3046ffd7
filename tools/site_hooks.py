# SPDX-License-Identifier: Apache-2.0
"""What MkDocs adds to docs/ when it builds the site: generated pages, and files outside of docs/.

The pages are written for readers of the repository.  On the site README.md is the first page, and
files that pages link to, such as examples, are copied; the links follow.
"""

import os
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import function_pages  # noqa: E402 - MkDocs runs this file without its folder

LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
# Pages from outside of docs/, and where they are on the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/data/README.md": "example-data.md",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the functions into the navigation."""
    functions = [f"functions/{name}.md" for name in function_pages.ROWS]
    for entry in config.nav or []:
        if "Functions" in entry:
            entry["Functions"] = ["functions/index.md", *functions]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, those of other folders, and the files that pages link to."""
    added = {"functions/index.md": function_pages.index()}
    for name, row in function_pages.ROWS.items():
        added[f"functions/{name}.md"] = function_pages.page(row)
    for source, uri in PAGES.items():
        added[uri] = (ROOT / source).read_text(encoding="utf-8")
    for uri, content in added.items():
        files.append(File.generated(config, uri, content=content))
    for source in sorted(_linked_sources(files)):
        path = str(ROOT / source)
        files.append(File.generated(config, _site_uri(source), abs_src_path=path))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links lead to where their targets are on the site."""
    uri = page.file.src_uri
    return LINK.sub(lambda link: target_on_site(link.group(1), uri), markdown)


def _linked_sources(files: Files) -> set[str]:
    """Return the files of the repository, outside of docs/, that pages link to."""
    found = set()
    for file in files.documentation_pages():
        for link in LINK.findall(file.content_string):
            source = _source_of(link, file.src_uri)
            is_outside = not source.startswith("docs/") and source not in PAGES
            if is_outside and (ROOT / source).is_file():
                found.add(source)
    return found


def _source_of(link: str, uri: str) -> str:
    """Return the path in the repository of a link's target."""
    page = next((source for source, target in PAGES.items() if target == uri), f"docs/{uri}")
    return os.path.normpath(os.path.join(os.path.dirname(page), link))


def _site_uri(source: str) -> str:
    if source in PAGES:
        return PAGES[source]
    return source.removeprefix("docs/") if source.startswith("docs/") else f"source/{source}"


def target_on_site(link: str, uri: str) -> str:
    """Return where a link on a page of the site leads to, from that page."""
    target = _site_uri(_source_of(link, uri))
    return os.path.relpath(target, os.path.dirname(uri) or ".")
