// A broker in a folder, with one durable queue: java Artemis PORT FOLDER QUEUE
import java.nio.file.Path;
import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.core.config.CoreAddressConfiguration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.JournalType;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;

class Artemis {
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[1]);
    String queue = args[2];
    ConfigurationImpl configuration = new ConfigurationImpl();
    configuration.setPersistenceEnabled(true).setSecurityEnabled(false).setJournalType(JournalType.NIO);
    configuration.setJournalDirectory(folder.resolve("journal").toString());
    configuration.setBindingsDirectory(folder.resolve("bindings").toString());
    configuration.setPagingDirectory(folder.resolve("paging").toString());
    configuration.setLargeMessagesDirectory(folder.resolve("large").toString());
    configuration.setJournalFileSize(1024 * 1024).setJournalMinFiles(2);
    configuration.addAcceptorConfiguration("amqp", "tcp://127.0.0.1:" + args[0] + "?protocols=AMQP");
    configuration.addAddressSetting(
        "#", new AddressSettings().setAutoCreateAddresses(false).setAutoCreateQueues(false));
    configuration.addAddressConfiguration(
        new CoreAddressConfiguration()
            .setName(queue)
            .addRoutingType(RoutingType.ANYCAST)
            .addQueueConfiguration(QueueConfiguration.of(queue).setRoutingType(RoutingType.ANYCAST)));
    EmbeddedActiveMQ broker = new EmbeddedActiveMQ();
    broker.setConfiguration(configuration);
    broker.start();
    System.out.println("started");
    Thread.currentThread().join();
  }
}
