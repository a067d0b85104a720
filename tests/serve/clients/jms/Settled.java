package clients;

import static clients.Answers.*;

import jakarta.jms.*;
import jakarta.jms.Queue;
import java.util.*;
import java.util.concurrent.*;

/** What is acknowledged, rolled back and tried again. */
class Settled {
  static void add() {
    cases.put(
        "a transaction",
        with(
            c -> {
              Session s = transacted(c);
              Queue q = s.createQueue("together");
              send(s, q, "undone");
              s.rollback();
              send(s, q, "a", "b");
              String before =
                  text(auto(c).createConsumer(s.createQueue("together")).receive(NOTHING));
              return "before its commit " + before;
            }));
    cases.put(
        "a transaction that reads",
        with(
            c -> {
              Session s = transacted(c);
              Queue q = s.createQueue("read");
              send(s, q, "undone");
              s.rollback();
              send(s, q, "a", "b");
              s.commit();
              MessageConsumer r = s.createConsumer(q);
              String first = read(r, 2);
              s.rollback();
              String again = read(r, 2);
              s.commit();
              return first + "; rolled back " + again + "; committed " + text(r.receive(NOTHING));
            }));
    cases.put(
        "a message that is passed on in one transaction",
        with(
            c -> {
              Session s = transacted(c);
              Queue from = s.createQueue("from"), to = s.createQueue("to");
              send(s, from, "x");
              s.commit();
              s.createProducer(to).send(s.createConsumer(from).receive(COMES));
              s.commit();
              String found = read(s.createConsumer(to), 1);
              s.commit();
              return found;
            }));
    cases.put(
        "client acknowledge, and a connection that ends",
        () -> {
          try (Connection c = connect()) {
            Session s = c.createSession(false, Session.CLIENT_ACKNOWLEDGE);
            Queue q = s.createQueue("kept");
            send(s, q, "a", "b", "c");
            MessageConsumer r = s.createConsumer(q);
            r.receive(COMES);
            r.receive(COMES).acknowledge();
            r.receive(COMES);
          }
          try (Connection c = connect()) {
            Session s = auto(c);
            Queue q = s.createQueue("kept");
            send(s, q, "d");
            MessageConsumer r = s.createConsumer(q);
            return tried(r.receive(COMES))
                + "; then "
                + text(r.receive(COMES))
                + " and "
                + text(r.receive(NOTHING));
          }
        });
    cases.put(
        "recover",
        with(
            c -> {
              Session s = c.createSession(false, Session.CLIENT_ACKNOWLEDGE);
              Queue q = s.createQueue("recovered");
              send(s, q, "a", "b", "c");
              MessageConsumer r = s.createConsumer(q);
              r.receive(COMES);
              r.receive(COMES);
              s.recover();
              return read(r, 3);
            }));
    cases.put(
        "three connections, each of which rolls back",
        () -> {
          StringJoiner found = new StringJoiner(" ");
          for (int i = 0; i < 3; i++)
            try (Connection c = connect()) {
              Session s = transacted(c);
              Queue q = s.createQueue("tried");
              if (i == 0) {
                send(s, q, "x");
                s.commit();
              }
              found.add(tried(s.createConsumer(q).receive(COMES)));
              s.rollback();
            }
          return found.toString();
        });
    cases.put(
        "a consumer that rolls back for ever",
        with(
            c -> {
              Session s = transacted(c);
              Queue q = s.createQueue("hopeless");
              send(s, q, "x");
              s.commit();
              MessageConsumer r = s.createConsumer(q);
              StringJoiner found = new StringJoiner(" ");
              for (int i = 0; i < 5; i++) {
                found.add(tried(r.receive(COMES)));
                s.rollback();
              }
              return found + "; then " + text(r.receive(NOTHING));
            }));
    cases.put("a listener that throws once", with(c -> listened(c, "throws", 1, 2)));
    cases.put("a listener that always throws", with(c -> listened(c, "hopeless listener", 99, 3)));
    cases.put(
        "groups and two consumers",
        () -> {
          Map<String, Set<String>> who = new ConcurrentHashMap<>();
          Map<String, List<Integer>> order = new ConcurrentHashMap<>();
          CountDownLatch all = new CountDownLatch(40);
          try (Connection c = connect();
              Connection d = connect();
              Connection e = connect()) {
            for (Connection each : List.of(d, e)) {
              Session s = auto(each);
              s.createConsumer(s.createQueue("grouped"))
                  .setMessageListener(
                      m -> {
                        try {
                          String g = m.getStringProperty("JMSXGroupID");
                          who.computeIfAbsent(g, x -> ConcurrentHashMap.newKeySet())
                              .add(each.toString());
                          order
                              .computeIfAbsent(
                                  g, x -> Collections.synchronizedList(new ArrayList<>()))
                              .add(m.getIntProperty("JMSXGroupSeq"));
                          Thread.sleep(5);
                        } catch (Exception failed) {
                          throw new RuntimeException(failed);
                        }
                        all.countDown();
                      });
            }
            Session s = auto(c);
            MessageProducer p = s.createProducer(s.createQueue("grouped"));
            for (int i = 0; i < 40; i++) {
              TextMessage t = s.createTextMessage("m");
              t.setStringProperty("JMSXGroupID", "g" + i % 4);
              t.setIntProperty("JMSXGroupSeq", i / 4 + 1);
              p.send(t);
            }
            boolean came = all.await(60, TimeUnit.SECONDS);
            boolean sorted =
                order.values().stream()
                    .allMatch(found -> found.equals(found.stream().sorted().toList()));
            return (came ? "all came" : "not all came")
                + (sorted ? ", each group in order" : ", out of order");
          }
        });
  }

  static String listened(Connection c, String queue, int throwing, int calls) throws Exception {
    Session s = auto(c);
    Queue q = s.createQueue(queue);
    List<String> seen = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch all = new CountDownLatch(calls);
    auto(c)
        .createConsumer(q)
        .setMessageListener(
            m -> {
              try {
                seen.add(tried(m));
              } catch (Exception failed) {
                seen.add("" + failed);
              }
              all.countDown();
              if (seen.size() <= throwing) throw new RuntimeException("not this one");
            });
    send(s, q, "x");
    all.await(COMES, TimeUnit.MILLISECONDS);
    if (throwing < calls) Thread.sleep(NOTHING);
    return String.join(" ", throwing < calls ? seen : seen.subList(0, calls));
  }
}
