import json
from pathlib import Path

from fairlead import report

summary = json.loads(Path("reported/summary.json").read_text(encoding="utf-8"))
page = report.render(summary)
print(page == Path("reported/report.html").read_text(encoding="utf-8"))
