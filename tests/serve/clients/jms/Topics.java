package clients;

import static clients.Answers.*;

import jakarta.jms.*;
import java.util.*;

/** Topics and their subscribers. */
class Topics {
  static void add() {
    cases.put(
        "a topic and two subscribers",
        with(
            c -> {
              Session s = auto(c);
              Topic t = s.createTopic("news.sport");
              MessageConsumer a = s.createConsumer(t), b = s.createConsumer(t);
              send(s, t, "x", "y");
              return read(a, 2) + "; " + read(b, 2);
            }));
    cases.put(
        "a durable subscription",
        () -> {
          String first;
          try (Connection c = named("durable")) {
            Session s = auto(c);
            Topic t = s.createTopic("news.kept");
            send(s, t, "too early");
            MessageConsumer r = s.createDurableConsumer(t, "one");
            send(s, t, "x");
            first = read(r, 1);
          }
          try (Connection c = connect()) {
            Session s = auto(c);
            send(s, s.createTopic("news.kept"), "while away");
          }
          try (Connection c = named("durable")) {
            Session s = auto(c);
            MessageConsumer r = s.createDurableConsumer(s.createTopic("news.kept"), "one");
            String then = read(r, 1);
            r.close();
            s.unsubscribe("one");
            return first + "; " + then + "; unsubscribed";
          }
        });
    cases.put(
        "an unsubscription of nothing",
        () -> {
          try (Connection c = named("nothing")) {
            auto(c).unsubscribe("no such");
            return "accepted";
          }
        });
    cases.put(
        "a shared subscription",
        with(
            c -> {
              Session s = auto(c);
              return read(s.createSharedConsumer(s.createTopic("news.shared"), "together"), 0);
            }));
    cases.put(
        "a shared durable subscription",
        () -> {
          try (Connection c = named("shared")) {
            Session s = auto(c);
            return read(s.createSharedDurableConsumer(s.createTopic("news.shared"), "together"), 0);
          }
        });
    cases.put(
        "a temporary topic",
        with(
            c -> {
              Session s = auto(c);
              return read(s.createConsumer(s.createTemporaryTopic()), 0);
            }));
    cases.put(
        "a subscriber that wants nothing of its own",
        with(
            c -> {
              Session s = auto(c);
              return read(s.createConsumer(s.createTopic("news.own"), null, true), 0);
            }));
    cases.put(
        "a subscriber with a selector",
        with(
            c -> {
              Session s = auto(c);
              return read(s.createConsumer(s.createTopic("news.some"), "colour = 'red'"), 0);
            }));
  }
}
