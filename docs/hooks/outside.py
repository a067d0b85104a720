"""A hook of MkDocs: the files outside docs/ that pages link to are copied into the site.

A file lands in the folder `repository` of the site. A link to a folder leads to its README.md.
"""

import re
from pathlib import Path
from posixpath import dirname, normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
COPIES = "repository"
LINK = re.compile(r'(?P<before>\]\(|src=")(?!https?:|mailto:|#)(?P<path>[^)#"\s]+)')
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add each file that a page links to, and what those link to."""
    todo = {page.src_uri for page in files.documentation_pages()}
    while todo:
        uri = todo.pop()
        markdown = files.src_uris[uri].content_string if uri.endswith(".md") else ""
        for link in LINK.finditer(FENCED.sub("", markdown)):
            target = _uri(link["path"], uri)
            if target.startswith(f"{COPIES}/") and target not in files.src_uris:
                path = ROOT / target.removeprefix(f"{COPIES}/")
                if path.is_file():  # else MkDocs says that the link leads nowhere
                    files.append(File.generated(config, target, content=path.read_bytes()))
                    todo.add(target)
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let the links lead to where the files are in the site."""
    here = page.file.src_uri

    def renewed(link: re.Match[str]) -> str:
        return link["before"] + relpath(_uri(link["path"], here), dirname(here) or ".")

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(p if p.startswith("```") else LINK.sub(renewed, p) for p in parts)


def _uri(link: str, here: str) -> str:
    """Where in the site the target of a link is."""
    if here.startswith(f"{COPIES}/"):
        place = Path(here).relative_to(COPIES).parent
    else:
        place = Path("docs", here).parent
    path = normpath((place / link).as_posix())
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        path = f"{path}/README.md"
    return f"{COPIES}/{path}"
