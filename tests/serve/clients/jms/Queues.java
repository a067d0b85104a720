package clients;

import static clients.Answers.*;

import jakarta.jms.*;
import jakarta.jms.Queue;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;

/** Messages of queues, and what they carry. */
class Queues {
  static void add() {
    cases.put(
        "a thousand messages, one after another",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("thousand");
              MessageProducer p = s.createProducer(q);
              for (int i = 0; i < 1000; i++) p.send(s.createTextMessage("" + i));
              MessageConsumer r = s.createConsumer(q);
              for (int i = 0; i < 1000; i++) {
                String found = text(r.receive(COMES));
                if (!found.equals("" + i)) return "found " + found + " in place of " + i;
              }
              return "1000, in order; left " + text(r.receive(NOTHING));
            }));
    cases.put(
        "a thousand sent without waiting, one acknowledge for all",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("async");
              MessageProducer p = s.createProducer(q);
              CountDownLatch done = new CountDownLatch(1000);
              AtomicInteger bad = new AtomicInteger();
              CompletionListener listener =
                  new CompletionListener() {
                    public void onCompletion(Message m) {
                      done.countDown();
                    }

                    public void onException(Message m, Exception why) {
                      bad.incrementAndGet();
                      done.countDown();
                    }
                  };
              for (int i = 0; i < 1000; i++) p.send(s.createTextMessage("" + i), listener);
              boolean all = done.await(60, TimeUnit.SECONDS);
              Session client = c.createSession(false, Session.CLIENT_ACKNOWLEDGE);
              MessageConsumer r = client.createConsumer(q);
              Message last = null;
              for (int i = 0; i < 1000; i++) last = r.receive(COMES);
              last.acknowledge();
              r.close();
              return (all ? "all told" : "not all told")
                  + ", "
                  + bad
                  + " refused; left "
                  + text(auto(c).createConsumer(q).receive(NOTHING));
            }));
    cases.put(
        "five kinds of bodies",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("kinds");
              MessageProducer p = s.createProducer(q);
              TextMessage t = s.createTextMessage("hé");
              t.setStringProperty("colour", "red");
              t.setIntProperty("n", 5);
              t.setBooleanProperty("b", true);
              t.setDoubleProperty("d", 1.5);
              t.setLongProperty("l", Long.MAX_VALUE);
              p.send(t);
              BytesMessage b = s.createBytesMessage();
              b.writeBytes(new byte[] {1, 2, 3});
              p.send(b);
              MapMessage m = s.createMapMessage();
              m.setInt("x", 3);
              p.send(m);
              p.send(s.createObjectMessage(new ArrayList<>(List.of("a"))));
              StreamMessage z = s.createStreamMessage();
              z.writeInt(4);
              z.writeString("z");
              p.send(z);
              MessageConsumer r = s.createConsumer(q);
              Message first = r.receive(COMES);
              return text(first)
                  + " "
                  + first.getStringProperty("colour")
                  + " "
                  + first.getIntProperty("n")
                  + " "
                  + first.getBooleanProperty("b")
                  + " "
                  + first.getDoubleProperty("d")
                  + " "
                  + first.getLongProperty("l")
                  + "; "
                  + ((BytesMessage) r.receive(COMES)).getBodyLength()
                  + " bytes; x is "
                  + ((MapMessage) r.receive(COMES)).getInt("x")
                  + "; "
                  + ((ObjectMessage) r.receive(COMES)).getObject()
                  + "; "
                  + streamed((StreamMessage) r.receive(COMES));
            }));
    cases.put(
        "what a message carries",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("carried");
              Queue back = s.createQueue("answers");
              TextMessage sent = s.createTextMessage("x");
              sent.setJMSCorrelationID("corr-1");
              sent.setJMSType("kind");
              sent.setJMSReplyTo(back);
              s.createProducer(q).send(sent);
              Message m = s.createConsumer(q).receive(COMES);
              return "the same id "
                  + m.getJMSMessageID().equals(sent.getJMSMessageID())
                  + ", time "
                  + (m.getJMSTimestamp() == sent.getJMSTimestamp())
                  + ", to "
                  + m.getJMSDestination()
                  + ", answers to "
                  + m.getJMSReplyTo()
                  + ", correlation "
                  + m.getJMSCorrelationID()
                  + ", type "
                  + m.getJMSType()
                  + ", mode "
                  + m.getJMSDeliveryMode()
                  + ", priority "
                  + m.getJMSPriority()
                  + ", expires "
                  + m.getJMSExpiration()
                  + ", "
                  + tried(m);
            }));
    cases.put(
        "a body of 5 MB",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("big");
              byte[] body = new byte[5_000_000];
              new Random(1).nextBytes(body);
              BytesMessage b = s.createBytesMessage();
              b.writeBytes(body);
              s.createProducer(q).send(b);
              byte[] found = new byte[5_000_000];
              ((BytesMessage) s.createConsumer(q).receive(COMES)).readBytes(found);
              return Arrays.equals(body, found) ? "the same" : "another";
            }));
    cases.put(
        "non-persistent messages",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("quick");
              MessageProducer p = s.createProducer(q);
              p.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
              for (int i = 0; i < 300; i++) p.send(s.createTextMessage("" + i));
              MessageConsumer r = s.createConsumer(q);
              Message m = null;
              for (int i = 0; i < 300; i++) {
                m = r.receive(COMES);
                if (m == null || !text(m).equals("" + i)) return "lacks " + i;
              }
              return "300, in order, mode " + m.getJMSDeliveryMode();
            }));
    cases.put("priorities where messages raise their group", with(c -> priorities(c, "urgent")));
    cases.put("priorities where they do not", with(c -> priorities(c, "plain")));
    cases.put(
        "a time to live",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("short");
              MessageProducer p = s.createProducer(q);
              p.setTimeToLive(1);
              p.send(s.createTextMessage("short"));
              p.setTimeToLive(600_000);
              p.send(s.createTextMessage("long"));
              Thread.sleep(50);
              MessageConsumer r = s.createConsumer(q);
              Message m = r.receive(COMES);
              long rest = m.getJMSExpiration() - System.currentTimeMillis();
              return text(m)
                  + (rest > 300_000 && rest <= 600_000
                      ? ", expires when it was said"
                      : ", expires in " + rest)
                  + "; then "
                  + text(r.receive(NOTHING));
            }));
    cases.put(
        "a delivery delay",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("later");
              MessageProducer p = s.createProducer(q);
              MessageConsumer r = s.createConsumer(q);
              p.setDeliveryDelay(2000);
              long sent = System.currentTimeMillis();
              p.send(s.createTextMessage("later"));
              Message m = r.receive(COMES);
              return text(m)
                  + (System.currentTimeMillis() - sent >= 2000
                      ? ", not before its time"
                      : ", too early")
                  + (m.getJMSDeliveryTime() - sent >= 2000
                      ? ", which it carries"
                      : ", of which it knows nothing");
            }));
    cases.put(
        "a producer without a destination",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("anonymous");
              s.createProducer(null).send(q, s.createTextMessage("x"));
              return read(s.createConsumer(q), 1);
            }));
    cases.put(
        "one message object sent twice",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("twice");
              MessageProducer p = s.createProducer(q);
              TextMessage m = s.createTextMessage("x");
              p.send(m);
              p.send(m);
              p.setDisableMessageID(true);
              p.send(s.createTextMessage("y"));
              p.send(s.createTextMessage("y"));
              return read(s.createConsumer(q), 4);
            }));
    cases.put(
        "a browser",
        with(
            c -> {
              Session s = auto(c);
              Queue q = s.createQueue("looked");
              send(s, q, "a", "b", "c");
              return seen(s.createBrowser(q))
                  + "; then received "
                  + read(s.createConsumer(q), 3)
                  + "; then "
                  + seen(s.createBrowser(q));
            }));
    cases.put(
        "a browser with a selector",
        with(
            c -> {
              Session s = auto(c);
              Queue q = coloured(s, "chosen");
              return seen(s.createBrowser(q, "colour = 'red' AND JMSPriority < 5"));
            }));
    cases.put(
        "a consumer with a selector",
        with(
            c -> {
              Session s = auto(c);
              return read(s.createConsumer(coloured(s, "selected"), "colour = 'red'"), 2);
            }));
    cases.put(
        "a browser whose selector is wrong",
        with(
            c -> {
              Session s = auto(c);
              return seen(s.createBrowser(s.createQueue("wrong"), "colour = = 'red"));
            }));
    cases.put(
        "a queue without a name",
        with(
            c -> {
              Session s = auto(c);
              return read(s.createConsumer(s.createQueue("")), 0);
            }));
  }

  static String priorities(Connection c, String queue) throws Exception {
    Session s = auto(c);
    Queue q = s.createQueue(queue);
    MessageProducer p = s.createProducer(q);
    for (int each : new int[] {1, 9, 4, 7}) {
      TextMessage m = s.createTextMessage("p" + each);
      m.setStringProperty("JMSXGroupID", "g" + each);
      p.send(m, DeliveryMode.PERSISTENT, each, 0);
    }
    MessageConsumer r = s.createConsumer(q);
    StringJoiner found = new StringJoiner(" ");
    for (int i = 0; i < 4; i++) {
      Message m = r.receive(COMES);
      found.add(text(m) + " of " + m.getJMSPriority());
    }
    return found.toString();
  }

  static String streamed(StreamMessage of) throws Exception {
    return of.readInt() + " " + of.readString();
  }

  static String seen(QueueBrowser by) throws Exception {
    int n = 0;
    for (Enumeration<?> e = by.getEnumeration(); e.hasMoreElements(); n++) e.nextElement();
    by.close();
    return n + " seen";
  }

  static Queue coloured(Session s, String queue) throws Exception {
    Queue q = s.createQueue(queue);
    MessageProducer p = s.createProducer(q);
    for (int i = 0; i < 4; i++) {
      TextMessage t = s.createTextMessage("m" + i);
      t.setStringProperty("colour", i % 2 == 0 ? "red" : "blue");
      p.send(t);
    }
    return q;
  }
}
