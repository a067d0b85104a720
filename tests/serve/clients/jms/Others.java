package clients;

import static clients.Answers.*;

import jakarta.jms.*;
import jakarta.jms.Queue;
import java.util.*;

/** Queues that live as long as a connection, and who may connect. */
class Others {
  static void add() {
    cases.put(
        "a temporary queue",
        with(
            c -> {
              Session s = auto(c);
              TemporaryQueue t = s.createTemporaryQueue();
              MessageConsumer r = s.createConsumer(t);
              send(s, t, "x");
              String found = read(r, 1);
              r.close();
              t.delete();
              try {
                send(s, t, "y");
                return found + "; sent to what is deleted";
              } catch (JMSException gone) {
                return found + "; deleted, and takes nothing more";
              }
            }));
    cases.put(
        "a temporary queue of another connection",
        with(
            c -> {
              try (Connection d = connect()) {
                TemporaryQueue t = auto(c).createTemporaryQueue();
                Session s = auto(d);
                return read(s.createConsumer(s.createQueue(t.getQueueName())), 0);
              } catch (JMSException no) {
                return refused(no).replaceAll("temporary:[\\w-]+", "temporary:...");
              }
            }));
    cases.put(
        "fifty questions and answers",
        () -> {
          try (Connection server = connect();
              Connection c = connect()) {
            Session there = auto(server), s = auto(c);
            Queue q = s.createQueue("questions");
            MessageProducer answers = there.createProducer(null);
            there
                .createConsumer(there.createQueue("questions"))
                .setMessageListener(
                    m -> {
                      try {
                        TextMessage t = there.createTextMessage("to " + text(m));
                        t.setJMSCorrelationID(m.getJMSMessageID());
                        answers.send(m.getJMSReplyTo(), t);
                      } catch (Exception failed) {
                        throw new RuntimeException(failed);
                      }
                    });
            TemporaryQueue mine = s.createTemporaryQueue();
            MessageConsumer r = s.createConsumer(mine);
            MessageProducer p = s.createProducer(q);
            int right = 0;
            for (int i = 0; i < 50; i++) {
              TextMessage m = s.createTextMessage("" + i);
              m.setJMSReplyTo(mine);
              p.send(m);
              Message a = r.receive(COMES);
              if (text(a).equals("to " + i) && m.getJMSMessageID().equals(a.getJMSCorrelationID()))
                right++;
            }
            return right + " right";
          }
        });
    cases.put(
        "a second connection with the client's id",
        () -> {
          try (Connection c = named("only one");
              Connection d = named("only one")) {
            return "let in";
          }
        });
    cases.put(
        "a user and a password where nobody has one",
        () -> {
          try (Connection c = factory.createConnection("somebody", "secret")) {
            c.start();
            return "let in";
          }
        });
  }
}
