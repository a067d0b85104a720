import jakarta.jms.*;
import jakarta.jms.Queue;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.qpid.jms.JmsConnectionFactory;

/** What a program of JMS gets: `java Answers.java URL` prints each case, a tab and its answer. */
public class Answers {
  interface Case { String answer() throws Exception; }

  static final int COMES = 20_000, NOTHING = 700;  // ms: how long it waits for what comes, and for what does not
  static final Map<String, Case> cases = new LinkedHashMap<>();
  static JmsConnectionFactory factory;

  public static void main(String[] arguments) throws Exception {
    factory = new JmsConnectionFactory(arguments[0] + "?jms.requestTimeout=20000&jms.connectTimeout=20000&jms.closeTimeout=20000&jms.sendTimeout=20000");
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    queues(); settled(); topics(); others();
    ExecutorService pool = Executors.newFixedThreadPool(16);
    Map<String, Future<String>> answers = new LinkedHashMap<>();
    cases.forEach((name, each) -> answers.put(name, pool.submit(each::answer)));
    for (var each : answers.entrySet()) {
      String answer;
      try { answer = each.getValue().get(120, TimeUnit.SECONDS); }
      catch (TimeoutException late) { answer = "no end in 120 s"; }
      catch (ExecutionException failed) { answer = refused(failed.getCause()); }
      out.println(each.getKey() + "\t" + answer);
    }
    System.exit(0);
  }

  static String refused(Throwable by) { return "refused, " + by.getClass().getSimpleName() + ": " + by.getMessage(); }
  static Connection connect() throws Exception { Connection made = factory.createConnection(); made.start(); return made; }
  static Connection named(String client) throws Exception { Connection made = factory.createConnection(); made.setClientID(client); made.start(); return made; }
  static Session auto(Connection of) throws Exception { return of.createSession(false, Session.AUTO_ACKNOWLEDGE); }
  static Session transacted(Connection of) throws Exception { return of.createSession(true, Session.SESSION_TRANSACTED); }
  static String text(Message of) throws Exception { return of == null ? "nothing" : ((TextMessage) of).getText(); }
  static String tried(Message of) throws Exception { return text(of) + (of == null ? "" : "/" + of.getIntProperty("JMSXDeliveryCount") + (of.getJMSRedelivered() ? " again" : "")); }
  static void send(Session by, Destination to, String... texts) throws Exception { MessageProducer producer = by.createProducer(to); for (String each : texts) producer.send(by.createTextMessage(each)); producer.close(); }

  /** So many messages, as they come, and what comes then. */
  static String read(MessageConsumer from, int many) throws Exception {
    StringJoiner found = new StringJoiner(" ");
    for (int i = 0; i < many; i++) found.add(tried(from.receive(COMES)));
    Message more = from.receive(NOTHING);
    return found + (more == null ? "" : " and then " + tried(more));
  }

  static Case with(Steps steps) { return () -> { try (Connection connection = connect()) { return steps.answer(connection); } }; }
  interface Steps { String answer(Connection in) throws Exception; }

  static void queues() {
    cases.put("a thousand messages, one after another", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("thousand"); MessageProducer p = s.createProducer(q);
      for (int i = 0; i < 1000; i++) p.send(s.createTextMessage("" + i));
      MessageConsumer r = s.createConsumer(q);
      for (int i = 0; i < 1000; i++) { String found = text(r.receive(COMES)); if (!found.equals("" + i)) return "found " + found + " in place of " + i; }
      return "1000, in order; left " + text(r.receive(NOTHING)); }));
    cases.put("a thousand sent without waiting, one acknowledge for all", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("async"); MessageProducer p = s.createProducer(q); CountDownLatch done = new CountDownLatch(1000); AtomicInteger bad = new AtomicInteger();
      CompletionListener listener = new CompletionListener() {
        public void onCompletion(Message m) { done.countDown(); }
        public void onException(Message m, Exception why) { bad.incrementAndGet(); done.countDown(); } };
      for (int i = 0; i < 1000; i++) p.send(s.createTextMessage("" + i), listener);
      boolean all = done.await(60, TimeUnit.SECONDS); Session client = c.createSession(false, Session.CLIENT_ACKNOWLEDGE); MessageConsumer r = client.createConsumer(q); Message last = null;
      for (int i = 0; i < 1000; i++) last = r.receive(COMES);
      last.acknowledge(); r.close();
      return (all ? "all told" : "not all told") + ", " + bad + " refused; left " + text(auto(c).createConsumer(q).receive(NOTHING)); }));
    cases.put("five kinds of bodies", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("kinds"); MessageProducer p = s.createProducer(q);
      TextMessage t = s.createTextMessage("hé"); t.setStringProperty("colour", "red"); t.setIntProperty("n", 5); t.setBooleanProperty("b", true); t.setDoubleProperty("d", 1.5); t.setLongProperty("l", Long.MAX_VALUE); p.send(t);
      BytesMessage b = s.createBytesMessage(); b.writeBytes(new byte[] {1, 2, 3}); p.send(b);
      MapMessage m = s.createMapMessage(); m.setInt("x", 3); p.send(m);
      p.send(s.createObjectMessage(new ArrayList<>(List.of("a"))));
      StreamMessage z = s.createStreamMessage(); z.writeInt(4); z.writeString("z"); p.send(z);
      MessageConsumer r = s.createConsumer(q); Message first = r.receive(COMES);
      return text(first) + " " + first.getStringProperty("colour") + " " + first.getIntProperty("n") + " " + first.getBooleanProperty("b") + " " + first.getDoubleProperty("d") + " " + first.getLongProperty("l")
        + "; " + ((BytesMessage) r.receive(COMES)).getBodyLength() + " bytes; x is " + ((MapMessage) r.receive(COMES)).getInt("x") + "; " + ((ObjectMessage) r.receive(COMES)).getObject() + "; " + streamed((StreamMessage) r.receive(COMES)); }));
    cases.put("what a message carries", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("carried"); Queue back = s.createQueue("answers"); TextMessage sent = s.createTextMessage("x"); sent.setJMSCorrelationID("corr-1"); sent.setJMSType("kind"); sent.setJMSReplyTo(back);
      s.createProducer(q).send(sent); Message m = s.createConsumer(q).receive(COMES);
      return "the same id " + m.getJMSMessageID().equals(sent.getJMSMessageID()) + ", time " + (m.getJMSTimestamp() == sent.getJMSTimestamp()) + ", to " + m.getJMSDestination() + ", answers to " + m.getJMSReplyTo()
        + ", correlation " + m.getJMSCorrelationID() + ", type " + m.getJMSType() + ", mode " + m.getJMSDeliveryMode() + ", priority " + m.getJMSPriority() + ", expires " + m.getJMSExpiration() + ", " + tried(m); }));
    cases.put("a body of 5 MB", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("big"); byte[] body = new byte[5_000_000]; new Random(1).nextBytes(body); BytesMessage b = s.createBytesMessage(); b.writeBytes(body); s.createProducer(q).send(b);
      byte[] found = new byte[5_000_000]; ((BytesMessage) s.createConsumer(q).receive(COMES)).readBytes(found); return Arrays.equals(body, found) ? "the same" : "another"; }));
    cases.put("non-persistent messages", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("quick"); MessageProducer p = s.createProducer(q); p.setDeliveryMode(DeliveryMode.NON_PERSISTENT); for (int i = 0; i < 300; i++) p.send(s.createTextMessage("" + i));
      MessageConsumer r = s.createConsumer(q); Message m = null; for (int i = 0; i < 300; i++) { m = r.receive(COMES); if (m == null || !text(m).equals("" + i)) return "lacks " + i; } return "300, in order, mode " + m.getJMSDeliveryMode(); }));
    cases.put("priorities where messages raise their group", with(c -> priorities(c, "urgent")));
    cases.put("priorities where they do not", with(c -> priorities(c, "plain")));
    cases.put("a time to live", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("short"); MessageProducer p = s.createProducer(q); p.setTimeToLive(1); p.send(s.createTextMessage("short")); p.setTimeToLive(600_000); p.send(s.createTextMessage("long")); Thread.sleep(50);
      MessageConsumer r = s.createConsumer(q); Message m = r.receive(COMES); long rest = m.getJMSExpiration() - System.currentTimeMillis();
      return text(m) + (rest > 300_000 && rest <= 600_000 ? ", expires when it was said" : ", expires in " + rest) + "; then " + text(r.receive(NOTHING)); }));
    cases.put("a delivery delay", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("later"); MessageProducer p = s.createProducer(q); MessageConsumer r = s.createConsumer(q); p.setDeliveryDelay(2000); long sent = System.currentTimeMillis(); p.send(s.createTextMessage("later"));
      Message m = r.receive(COMES); return text(m) + (System.currentTimeMillis() - sent >= 2000 ? ", not before its time" : ", too early") + (m.getJMSDeliveryTime() - sent >= 2000 ? ", which it carries" : ", of which it knows nothing"); }));
    cases.put("a producer without a destination", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("anonymous"); s.createProducer(null).send(q, s.createTextMessage("x")); return read(s.createConsumer(q), 1); }));
    cases.put("one message object sent twice", with(c -> {
      Session s = auto(c); Queue q = s.createQueue("twice"); MessageProducer p = s.createProducer(q); TextMessage m = s.createTextMessage("x"); p.send(m); p.send(m); p.setDisableMessageID(true); p.send(s.createTextMessage("y")); p.send(s.createTextMessage("y")); return read(s.createConsumer(q), 4); }));
    cases.put("a browser", with(c -> { Session s = auto(c); Queue q = s.createQueue("looked"); send(s, q, "a", "b", "c"); return seen(s.createBrowser(q)) + "; then received " + read(s.createConsumer(q), 3) + "; then " + seen(s.createBrowser(q)); }));
    cases.put("a browser with a selector", with(c -> { Session s = auto(c); Queue q = coloured(s, "chosen"); return seen(s.createBrowser(q, "colour = 'red' AND JMSPriority < 5")); }));
    cases.put("a consumer with a selector", with(c -> { Session s = auto(c); return read(s.createConsumer(coloured(s, "selected"), "colour = 'red'"), 2); }));
    cases.put("a browser whose selector is wrong", with(c -> { Session s = auto(c); return seen(s.createBrowser(s.createQueue("wrong"), "colour = = 'red")); }));
    cases.put("a queue without a name", with(c -> { Session s = auto(c); return read(s.createConsumer(s.createQueue("")), 0); }));
  }

  static String priorities(Connection c, String queue) throws Exception {
    Session s = auto(c); Queue q = s.createQueue(queue); MessageProducer p = s.createProducer(q); for (int each : new int[] {1, 9, 4, 7}) { TextMessage m = s.createTextMessage("p" + each); m.setStringProperty("JMSXGroupID", "g" + each); p.send(m, DeliveryMode.PERSISTENT, each, 0); }
    MessageConsumer r = s.createConsumer(q); StringJoiner found = new StringJoiner(" "); for (int i = 0; i < 4; i++) { Message m = r.receive(COMES); found.add(text(m) + " of " + m.getJMSPriority()); } return found.toString();
  }
  static String streamed(StreamMessage of) throws Exception { return of.readInt() + " " + of.readString(); }
  static String seen(QueueBrowser by) throws Exception { int n = 0; for (Enumeration<?> e = by.getEnumeration(); e.hasMoreElements(); n++) e.nextElement(); by.close(); return n + " seen"; }
  static Queue coloured(Session s, String queue) throws Exception {
    Queue q = s.createQueue(queue); MessageProducer p = s.createProducer(q); for (int i = 0; i < 4; i++) { TextMessage t = s.createTextMessage("m" + i); t.setStringProperty("colour", i % 2 == 0 ? "red" : "blue"); p.send(t); } return q;
  }

  static void settled() {
    cases.put("a transaction", with(c -> {
      Session s = transacted(c); Queue q = s.createQueue("together"); send(s, q, "undone"); s.rollback(); send(s, q, "a", "b"); String before = text(auto(c).createConsumer(s.createQueue("together")).receive(NOTHING)); return "before its commit " + before; }));
    cases.put("a transaction that reads", with(c -> {
      Session s = transacted(c); Queue q = s.createQueue("read"); send(s, q, "undone"); s.rollback(); send(s, q, "a", "b"); s.commit(); MessageConsumer r = s.createConsumer(q); String first = read(r, 2); s.rollback(); String again = read(r, 2); s.commit(); return first + "; rolled back " + again + "; committed " + text(r.receive(NOTHING)); }));
    cases.put("a message that is passed on in one transaction", with(c -> {
      Session s = transacted(c); Queue from = s.createQueue("from"), to = s.createQueue("to"); send(s, from, "x"); s.commit(); s.createProducer(to).send(s.createConsumer(from).receive(COMES)); s.commit(); String found = read(s.createConsumer(to), 1); s.commit(); return found; }));
    cases.put("client acknowledge, and a connection that ends", () -> {
      try (Connection c = connect()) { Session s = c.createSession(false, Session.CLIENT_ACKNOWLEDGE); Queue q = s.createQueue("kept"); send(s, q, "a", "b", "c", "d"); MessageConsumer r = s.createConsumer(q); r.receive(COMES); r.receive(COMES).acknowledge(); r.receive(COMES); }
      try (Connection c = connect()) { Session s = auto(c); MessageConsumer r = s.createConsumer(s.createQueue("kept")); return tried(r.receive(COMES)) + "; then " + text(r.receive(COMES)) + " and " + text(r.receive(NOTHING)); } });
    cases.put("recover", with(c -> {
      Session s = c.createSession(false, Session.CLIENT_ACKNOWLEDGE); Queue q = s.createQueue("recovered"); send(s, q, "a", "b", "c"); MessageConsumer r = s.createConsumer(q); r.receive(COMES); r.receive(COMES); s.recover(); return read(r, 3); }));
    cases.put("three connections, each of which rolls back", () -> {
      StringJoiner found = new StringJoiner(" "); for (int i = 0; i < 3; i++) try (Connection c = connect()) { Session s = transacted(c); Queue q = s.createQueue("tried"); if (i == 0) { send(s, q, "x"); s.commit(); } found.add(tried(s.createConsumer(q).receive(COMES))); s.rollback(); } return found.toString(); });
    cases.put("a consumer that rolls back for ever", with(c -> {
      Session s = transacted(c); Queue q = s.createQueue("hopeless"); send(s, q, "x"); s.commit(); MessageConsumer r = s.createConsumer(q); StringJoiner found = new StringJoiner(" "); for (int i = 0; i < 5; i++) { found.add(tried(r.receive(COMES))); s.rollback(); } return found + "; then " + text(r.receive(NOTHING)); }));
    cases.put("a listener that throws once", with(c -> listened(c, "throws", 1, 2)));
    cases.put("a listener that always throws", with(c -> listened(c, "hopeless listener", 99, 3)));
    cases.put("groups and two consumers", () -> {
      Map<String, Set<String>> who = new ConcurrentHashMap<>(); Map<String, List<Integer>> order = new ConcurrentHashMap<>(); CountDownLatch all = new CountDownLatch(40);
      try (Connection c = connect(); Connection d = connect(); Connection e = connect()) {
        for (Connection each : List.of(d, e)) { Session s = auto(each); s.createConsumer(s.createQueue("grouped")).setMessageListener(m -> { try { String g = m.getStringProperty("JMSXGroupID"); who.computeIfAbsent(g, x -> ConcurrentHashMap.newKeySet()).add(each.toString()); order.computeIfAbsent(g, x -> Collections.synchronizedList(new ArrayList<>())).add(m.getIntProperty("JMSXGroupSeq")); Thread.sleep(5); } catch (Exception failed) { throw new RuntimeException(failed); } all.countDown(); }); }
        Session s = auto(c); MessageProducer p = s.createProducer(s.createQueue("grouped")); for (int i = 0; i < 40; i++) { TextMessage t = s.createTextMessage("m"); t.setStringProperty("JMSXGroupID", "g" + i % 4); t.setIntProperty("JMSXGroupSeq", i / 4 + 1); p.send(t); }
        boolean came = all.await(60, TimeUnit.SECONDS); boolean sorted = order.values().stream().allMatch(found -> found.equals(found.stream().sorted().toList()));
        return (came ? "all came" : "not all came") + (sorted ? ", each group in order" : ", out of order"); } });
  }

  static String listened(Connection c, String queue, int throwing, int calls) throws Exception {
    Session s = auto(c); Queue q = s.createQueue(queue); List<String> seen = Collections.synchronizedList(new ArrayList<>()); CountDownLatch all = new CountDownLatch(calls);
    auto(c).createConsumer(q).setMessageListener(m -> { try { seen.add(tried(m)); } catch (Exception failed) { seen.add("" + failed); } all.countDown(); if (seen.size() <= throwing) throw new RuntimeException("not this one"); });
    send(s, q, "x"); all.await(COMES, TimeUnit.MILLISECONDS); if (throwing < calls) Thread.sleep(NOTHING); return String.join(" ", throwing < calls ? seen : seen.subList(0, calls));
  }

  static void topics() {
    cases.put("a topic and two subscribers", with(c -> { Session s = auto(c); Topic t = s.createTopic("news.sport"); MessageConsumer a = s.createConsumer(t), b = s.createConsumer(t); send(s, t, "x", "y"); return read(a, 2) + "; " + read(b, 2); }));
    cases.put("a durable subscription", () -> {
      String first; try (Connection c = named("durable")) { Session s = auto(c); Topic t = s.createTopic("news.kept"); send(s, t, "too early"); MessageConsumer r = s.createDurableConsumer(t, "one"); send(s, t, "x"); first = read(r, 1); }
      try (Connection c = connect()) { Session s = auto(c); send(s, s.createTopic("news.kept"), "while away"); }
      try (Connection c = named("durable")) { Session s = auto(c); MessageConsumer r = s.createDurableConsumer(s.createTopic("news.kept"), "one"); String then = read(r, 1); r.close(); s.unsubscribe("one"); return first + "; " + then + "; unsubscribed"; } });
    cases.put("an unsubscription of nothing", () -> { try (Connection c = named("nothing")) { auto(c).unsubscribe("no such"); return "accepted"; } });
    cases.put("a shared subscription", with(c -> { Session s = auto(c); return read(s.createSharedConsumer(s.createTopic("news.shared"), "together"), 0); }));
    cases.put("a shared durable subscription", () -> { try (Connection c = named("shared")) { Session s = auto(c); return read(s.createSharedDurableConsumer(s.createTopic("news.shared"), "together"), 0); } });
    cases.put("a temporary topic", with(c -> { Session s = auto(c); return read(s.createConsumer(s.createTemporaryTopic()), 0); }));
    cases.put("a subscriber that wants nothing of its own", with(c -> { Session s = auto(c); return read(s.createConsumer(s.createTopic("news.own"), null, true), 0); }));
    cases.put("a subscriber with a selector", with(c -> { Session s = auto(c); return read(s.createConsumer(s.createTopic("news.some"), "colour = 'red'"), 0); }));
  }

  static void others() {
    cases.put("a temporary queue", with(c -> {
      Session s = auto(c); TemporaryQueue t = s.createTemporaryQueue(); MessageConsumer r = s.createConsumer(t); send(s, t, "x"); String found = read(r, 1); r.close(); t.delete();
      try { send(s, t, "y"); return found + "; sent to what is deleted"; } catch (JMSException gone) { return found + "; deleted, and takes nothing more"; } }));
    cases.put("a temporary queue of another connection", with(c -> { try (Connection d = connect()) { TemporaryQueue t = auto(c).createTemporaryQueue(); Session s = auto(d); return read(s.createConsumer(s.createQueue(t.getQueueName())), 0); } catch (JMSException no) { return refused(no).replaceAll("temporary:[\\w-]+", "temporary:..."); } }));
    cases.put("fifty questions and answers", () -> {
      try (Connection server = connect(); Connection c = connect()) {
        Session there = auto(server), s = auto(c); Queue q = s.createQueue("questions"); MessageProducer answers = there.createProducer(null);
        there.createConsumer(there.createQueue("questions")).setMessageListener(m -> { try { TextMessage t = there.createTextMessage("to " + text(m)); t.setJMSCorrelationID(m.getJMSMessageID()); answers.send(m.getJMSReplyTo(), t); } catch (Exception failed) { throw new RuntimeException(failed); } });
        TemporaryQueue mine = s.createTemporaryQueue(); MessageConsumer r = s.createConsumer(mine); MessageProducer p = s.createProducer(q); int right = 0;
        for (int i = 0; i < 50; i++) { TextMessage m = s.createTextMessage("" + i); m.setJMSReplyTo(mine); p.send(m); Message a = r.receive(COMES); if (text(a).equals("to " + i) && m.getJMSMessageID().equals(a.getJMSCorrelationID())) right++; }
        return right + " right"; } });
    cases.put("a second connection with the client's id", () -> { try (Connection c = named("only one"); Connection d = named("only one")) { return "let in"; } });
    cases.put("a user and a password where nobody has one", () -> { try (Connection c = factory.createConnection("somebody", "secret")) { c.start(); return "let in"; } });
  }
}
