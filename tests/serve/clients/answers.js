// What a program of rhea gets: `node answers.js PORT` prints each case, a tab and its answer.
const rhea = require("rhea");

const port = Number(process.argv[2]);
const COMES = 20000,
  NOTHING = 700; // ms: how long a case waits for what comes, and for what does not
const why = (error) => (error ? `${error.condition || error.message}: ${error.description}` : "no reason");
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function connect(options = {}) {
  return rhea
    .create_container()
    .connect({ host: "127.0.0.1", port, reconnect: false, username: "anonymous", ...options });
}

// One of these events of a link, whichever comes first; refused if it is about an error.
function told(of, ...names) {
  return new Promise((resolve, reject) => {
    names.forEach((name) => of.once(name, resolve));
    ["sender_error", "receiver_error", "connection_error", "rejected"]
      .filter((name) => !names.includes(name))
      .forEach((name) => {
        of.once(name, (found) => {
          const of_link =
            name === "sender_error"
              ? found.sender
              : name === "receiver_error"
                ? found.receiver
                : found.connection;
          reject(new Error(why(name === "rejected" ? found.delivery.remote_state.error : of_link.error)));
        });
      });
  });
}

async function send(connection, target, ...messages) {
  const sender = connection.open_sender({ target });
  await told(sender, "sendable");
  for (const each of messages) {
    const accepted = told(sender, "accepted");
    sender.send(each);
    await accepted;
  }
  sender.close();
}

// A receiver, and what it was given.
function receive(connection, options) {
  const receiver = connection.open_receiver({ credit_window: 10, autoaccept: true, ...options });
  const found = [],
    waiting = [];
  receiver.on("message", (each) => (waiting.length ? waiting.shift()(each) : found.push(each)));
  const next = (limit = COMES) =>
    found.length
      ? Promise.resolve(found.shift())
      : Promise.race([new Promise((resolve) => waiting.push(resolve)), wait(limit).then(() => undefined)]);
  return { receiver, next };
}

const tried = (each) => (each ? `${each.message.body}/${each.message.delivery_count || 0}` : "nothing");

async function read(from, many) {
  const found = [];
  for (let i = 0; i < many; i++) found.push(tried(await from.next()));
  return `${found.join(" ")} and then ${tried(await from.next(NOTHING))}`;
}

const cases = {
  "a thousand messages that are sent ahead": async (c) => {
    const sender = c.open_sender("thousand");
    let sent = 0,
      accepted = 0;
    sender.on("accepted", () => accepted++);
    sender.on("sendable", () => {
      while (sender.sendable() && sent < 1000) sender.send({ body: sent++ });
    });
    const from = receive(c, { source: "thousand", credit_window: 100 });
    for (let i = 0; i < 1000; i++) {
      const body = (await from.next()).message.body;
      if (body !== i) return `found ${body} in place of ${i}`;
    }
    await wait(100);
    return `1000, in order; ${accepted} accepted`;
  },
  "what a message carries": async (c) => {
    const at = new Date(1700000000000);
    await send(c, "carried", {
      message_id: "id-1",
      correlation_id: "corr-1",
      subject: "note",
      reply_to: "answers",
      content_type: "text/plain",
      durable: true,
      priority: 7,
      group_id: "customer-7",
      group_sequence: 3,
      creation_time: at,
      application_properties: { colour: "red", n: -1, deep: rhea.types.wrap_ulong(5) },
      message_annotations: { "x-opt-mine": "kept" },
      body: { total: 3, lines: [1, "two", null, true] },
    });
    const { message: m } = await receive(c, { source: "carried" }).next();
    return `${m.message_id} ${m.correlation_id} ${m.subject} ${m.reply_to} ${m.content_type} ${m.durable} ${m.priority} ${m.group_id} ${m.group_sequence} ${+m.creation_time} ${JSON.stringify(m.application_properties)} ${m.message_annotations["x-opt-mine"]} ${JSON.stringify(m.body)}`;
  },
  "bodies that are bytes, in one section and in two": async (c) => {
    await send(
      c,
      "bytes",
      { body: rhea.message.data_section(Buffer.from([1, 2, 255])) },
      { body: rhea.message.data_sections([Buffer.from("a"), Buffer.from("b")]) },
      { body: rhea.message.sequence_section([1, "x"]) },
    );
    const from = receive(c, { source: "bytes" });
    const found = [];
    for (let i = 0; i < 3; i++) {
      const body = (await from.next()).message.body;
      found.push(
        body.multiple
          ? JSON.stringify(body.content.map(String))
          : `${body.content.toString("hex") || JSON.stringify(body.content)}`,
      );
    }
    return found.join("; ");
  },
  "messages that are sent settled": async (c) => {
    const sender = c.open_sender({ target: "settled", snd_settle_mode: 1 });
    await told(sender, "sendable");
    ["a", "b"].forEach((body) => sender.send({ body }));
    return read(receive(c, { source: "settled" }), 2);
  },
  "messages that are given settled": async (c) => {
    await send(c, "given", { body: "a" }, { body: "b" });
    return read(receive(c, { source: "given", snd_settle_mode: 1 }), 2);
  },
  "a message that is given back, and one that failed": async (c) => {
    await send(c, "back", { body: "a" });
    const from = receive(c, { source: "back", autoaccept: false, credit_window: 1 });
    const found = [];
    for (const how of [(d) => d.release(), (d) => d.modified({ delivery_failed: true }), (d) => d.accept()]) {
      const each = await from.next();
      found.push(tried(each));
      how(each.delivery);
    }
    return found.join(" ");
  },
  "a message that is rejected": async (c) => {
    await send(c, "rejected", { body: "a" }, { body: "b" });
    const from = receive(c, { source: "rejected", autoaccept: false, credit_window: 1 });
    (await from.next()).delivery.reject({ condition: "shop:bad", description: "no such customer" });
    const then = await from.next();
    then.delivery.accept();
    return `${tried(then)} and then ${tried(await from.next(NOTHING))}`;
  },
  "credit that is drained": async (c) => {
    await send(c, "drained", { body: "a" });
    const from = receive(c, { source: "drained", credit_window: 0 });
    const drained = told(from.receiver, "receiver_drained");
    from.receiver.drain = true;
    from.receiver.add_credit(5);
    await drained;
    return `${tried(await from.next())}, credit left ${from.receiver.credit}`;
  },
  "a queue of its own, for answers": async (c) => {
    const from = receive(c, { source: { dynamic: true } });
    await told(from.receiver, "receiver_open");
    await send(c, from.receiver.source.address, { body: "x" });
    return read(from, 1);
  },
  "a receiver with a selector": async (c) => {
    const { receiver } = receive(c, {
      source: { address: "chosen", filter: rhea.filter.selector("colour = 'red'") },
    });
    await told(receiver, "receiver_error").then(({ receiver: refused }) => {
      throw new Error(why(refused.error));
    });
  },
  "a browser with a selector": async (c) => {
    await send(
      c,
      "looked",
      { body: "a", application_properties: { colour: "red" } },
      { body: "b", application_properties: { colour: "blue" } },
    );
    const seen = await read(
      receive(c, {
        source: {
          address: "looked",
          distribution_mode: "copy",
          filter: rhea.filter.selector("colour = 'red'"),
        },
      }),
      1,
    );
    return `${seen}; received ${await read(receive(c, { source: "looked" }), 2)}`;
  },
  "two subscribers of a subject": async (c) => {
    const source = { address: "news.rhea", capabilities: "topic" };
    const one = receive(c, { name: "one", source }),
      other = receive(c, { name: "other", source });
    await Promise.all([told(one.receiver, "receiver_open"), told(other.receiver, "receiver_open")]);
    await send(c, { address: "news.rhea", capabilities: "topic" }, { body: "x", durable: true });
    return `${await read(one, 1)}; ${await read(other, 1)}`;
  },
  "a subscription that is kept": async () => {
    const source = { address: "news.rhea.kept", capabilities: "topic", durable: 2, expiry_policy: "never" };
    const first = connect({ container_id: "keeper" });
    await told(receive(first, { name: "mine", source }).receiver, "receiver_open");
    first.close();
    await told(first, "connection_close");
    const c = connect();
    await send(
      c,
      { address: "news.rhea.kept", capabilities: "topic" },
      { body: "while away", durable: true },
    );
    c.close();
    const again = connect({ container_id: "keeper" });
    const found = await read(receive(again, { name: "mine", source }), 1);
    again.close();
    return found;
  },
  "an address that is not had here": async (c) => {
    await send(c, "$management", { body: "x" });
    return "accepted";
  },
  "messages on a link to anywhere": async (c) => {
    await send(c, {}, { to: "anywhere", body: "x" });
    const found = await read(receive(c, { source: "anywhere" }), 1);
    return send(c, {}, { to: "$management", body: "x" }).catch(
      (error) => `${found}; refused, ${error.message}`,
    );
  },
  "a second connection of one container": async () => {
    const one = connect({ container_id: "same" });
    await told(one, "connection_open");
    const other = connect({ container_id: "same" });
    const answer = await told(other, "connection_open").then(() => "let in");
    one.close();
    other.close();
    return answer;
  },
};

async function answer(run) {
  const connection = connect();
  connection.on("connection_error", () => {});
  const late = wait(60000).then(() => "no end in 60 s");
  const found = await Promise.race([run(connection), late]).catch((error) => `refused, ${error.message}`);
  connection.close();
  return found;
}

(async () => {
  const answers = await Promise.all(Object.values(cases).map(answer)); // beside each other
  Object.keys(cases).forEach((name, i) => console.log(`${name}\t${answers[i]}`));
  process.exit(0);
})();
