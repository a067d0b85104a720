package clients;

import jakarta.jms.*;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.qpid.jms.JmsConnectionFactory;

/** What a program of JMS gets: `java Answers URL` prints each case, a tab and its answer. */
public class Answers {
  interface Case {
    String answer() throws Exception;
  }

  static final int COMES = 20_000,
      NOTHING = 700; // ms: how long it waits for what comes, and for what does not
  static final Map<String, Case> cases = new LinkedHashMap<>();
  static JmsConnectionFactory factory;

  public static void main(String[] arguments) throws Exception {
    factory =
        new JmsConnectionFactory(
            arguments[0]
                + "?jms.requestTimeout=20000&jms.connectTimeout=20000&jms.closeTimeout=20000&jms.sendTimeout=20000");
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Queues.add();
    Settled.add();
    Topics.add();
    Others.add();
    ExecutorService pool = Executors.newFixedThreadPool(16);
    Map<String, Future<String>> answers = new LinkedHashMap<>();
    cases.forEach((name, each) -> answers.put(name, pool.submit(each::answer)));
    for (var each : answers.entrySet()) {
      String answer;
      try {
        answer = each.getValue().get(120, TimeUnit.SECONDS);
      } catch (TimeoutException late) {
        answer = "no end in 120 s";
      } catch (ExecutionException failed) {
        answer = refused(failed.getCause());
      }
      out.println(each.getKey() + "\t" + answer);
    }
    System.exit(0);
  }

  static String refused(Throwable by) {
    return "refused, " + by.getClass().getSimpleName() + ": " + by.getMessage();
  }

  static Connection connect() throws Exception {
    Connection made = factory.createConnection();
    made.start();
    return made;
  }

  static Connection named(String client) throws Exception {
    Connection made = factory.createConnection();
    made.setClientID(client);
    made.start();
    return made;
  }

  static Session auto(Connection of) throws Exception {
    return of.createSession(false, Session.AUTO_ACKNOWLEDGE);
  }

  static Session transacted(Connection of) throws Exception {
    return of.createSession(true, Session.SESSION_TRANSACTED);
  }

  static String text(Message of) throws Exception {
    return of == null ? "nothing" : ((TextMessage) of).getText();
  }

  static String tried(Message of) throws Exception {
    return text(of)
        + (of == null
            ? ""
            : "/"
                + of.getIntProperty("JMSXDeliveryCount")
                + (of.getJMSRedelivered() ? " again" : ""));
  }

  static void send(Session by, Destination to, String... texts) throws Exception {
    MessageProducer producer = by.createProducer(to);
    for (String each : texts) producer.send(by.createTextMessage(each));
    producer.close();
  }

  /** So many messages, as they come, and what comes then. */
  static String read(MessageConsumer from, int many) throws Exception {
    StringJoiner found = new StringJoiner(" ");
    for (int i = 0; i < many; i++) found.add(tried(from.receive(COMES)));
    Message more = from.receive(NOTHING);
    return found + (more == null ? "" : " and then " + tried(more));
  }

  static Case with(Steps steps) {
    return () -> {
      try (Connection connection = connect()) {
        return steps.answer(connection);
      }
    };
  }

  interface Steps {
    String answer(Connection in) throws Exception;
  }
}
