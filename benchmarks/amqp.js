// A client with rhea, as its users write it: sends, receives, or does one after the other.
const rhea = require(process.argv[2]);
const [port, count, window] = process.argv.slice(3, 6).map(Number);
const [what, address] = process.argv.slice(6);
const container = rhea.create_container();
const connection = container.connect({ host: "127.0.0.1", port, reconnect: false });
const message = { durable: true, body: rhea.message.data_section(Buffer.alloc(256, "x")) };
let began;
let used;

function start() {
  used = used || process.cpuUsage();
  began = began || process.hrtime.bigint();
}

function done(found) {
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  const { user, system } = process.cpuUsage(used);
  console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, ...found }));
  connection.close();
}

function send() {
  let sent = 0;
  let accepted = 0;
  const sender = connection.open_sender(address);
  const pump = () => {
    start();
    while (sender.sendable() && sent < count && sent - accepted < window) {
      sender.send(message);
      sent++;
    }
  };
  sender.on("sendable", pump);
  sender.on("accepted", () => (++accepted === count ? done() : pump()));
}

function receive() {
  let received = 0;
  const receiver = connection.open_receiver({ source: address, credit_window: window, autoaccept: false });
  receiver.on("message", ({ delivery }) => {
    start();
    delivery.accept();
    if (++received === count) done();
  });
}

function turns() {  // one message at a time: from its sending to its receiver
  const waits = [];
  let at;
  const sender = connection.open_sender(address);
  const next = () => {
    start();
    at = process.hrtime.bigint();
    sender.send(message);
  };
  connection.open_receiver({ source: address, credit_window: 10, autoaccept: false }).on("message", ({ delivery }) => {
    waits.push(Number(process.hrtime.bigint() - at) / 1e6);
    delivery.accept();
    if (waits.length < count) return next();
    waits.sort((a, b) => a - b);
    done({ p50: waits[Math.floor(count * 0.5)], p99: waits[Math.floor(count * 0.99)] });
  });
  sender.once("sendable", next);
}

function idle() {  // so many connections, one after the other, until standard input ends
  let open = 1;
  const next = () => {
    if (open === count) return console.log(JSON.stringify({ open }));
    container.connect({ host: "127.0.0.1", port, reconnect: false }).once("connection_open", () => {
      open++;
      next();
    });
  };
  next();
  process.stdin.on("end", () => process.exit(0)).resume();
}

connection.once("connection_open", { send, receive, turns, idle }[what]);
