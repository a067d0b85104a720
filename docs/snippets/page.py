import json
from pathlib import Path

from fairlead import report

told = json.loads(Path("told/summary.json").read_text(encoding="utf-8"))
page = report.render(told)
print(page == Path("told/report.html").read_text(encoding="utf-8"))
