import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fairlead import Store

got = []


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        got.append((self.headers["Idempotency-Key"], self.headers["Fairlead-Group"], body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


servers = [ThreadingHTTPServer(("127.0.0.1", port), Service) for port in (8431, 8432)]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()

with Store.open("sqlite:///forward.db") as store:
    store.load_clusters("services.toml")
    for order in ("o-1", "o-2", "o-3"):
        decision = store.publish("services", {"pack": order}, id=order, group=f"of {order}")
        print(order, "->", decision.destination)

forward = [sys.executable, "-m", "fairlead", "forward", "--store", "sqlite:///forward.db"]
command = [*forward, "-c", "services.toml", "--until-empty"]
subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
for line in sorted(got):
    print(*line)
for server in servers:
    server.shutdown()
    server.server_close()
