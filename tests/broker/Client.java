import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What the broker tests ask of a cluster, a line a command, so that a JVM is started once:
 *
 *   create TOPIC [KEY=VALUE ...]            one partition, one replica
 *   set TOPIC KEY=VALUE
 *   produce TOPIC COUNT BYTES [TIMESTAMP]   uncompressed values of BYTES bytes; prints the next offset
 *   delete-records TOPIC OFFSET
 *   delete TOPIC
 *
 * Answers "ok ..." or "error ..." to each.
 */
public class Client {
  private final Admin admin;
  private final KafkaProducer<byte[], byte[]> producer;

  Client(String bootstrap) {
    Properties config = new Properties();
    config.put("bootstrap.servers", bootstrap);
    admin = Admin.create(config);
    Properties more = new Properties();
    more.putAll(config);
    more.put("acks", "all");
    more.put("linger.ms", "5");
    more.put("enable.idempotence", "true");
    producer = new KafkaProducer<>(more, new ByteArraySerializer(), new ByteArraySerializer());
  }

  public static void main(String[] arguments) throws Exception {
    Client client = new Client(arguments[0]);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      try {
        System.out.println("ok " + client.run(line.trim().split(" ")));
      } catch (Exception error) {
        System.out.println("error " + error);
      }
      System.out.flush();
    }
  }

  private String run(String[] words) throws Exception {
    switch (words[0]) {
      case "create": return create(words);
      case "set": return set(words[1], words[2]);
      case "produce": return produce(words);
      case "delete-records": return deleteRecords(words[1], Long.parseLong(words[2]));
      case "delete":
        admin.deleteTopics(List.of(words[1])).all().get();
        return "";
      default: throw new IllegalArgumentException("no command " + words[0]);
    }
  }

  private String create(String[] words) throws Exception {
    Map<String, String> settings = new HashMap<>();
    for (int i = 2; i < words.length; ++i) {
      String[] pair = words[i].split("=", 2);
      settings.put(pair[0], pair[1]);
    }
    admin.createTopics(List.of(new NewTopic(words[1], 1, (short) 1).configs(settings))).all().get();
    return "";
  }

  private String set(String topic, String setting) throws Exception {
    String[] pair = setting.split("=", 2);
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    AlterConfigOp change =
        new AlterConfigOp(new ConfigEntry(pair[0], pair[1]), AlterConfigOp.OpType.SET);
    admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
    return "";
  }

  private String produce(String[] words) throws Exception {
    byte[] value = new byte[Integer.parseInt(words[3])];
    java.util.Arrays.fill(value, (byte) 'v');
    Long timestamp = words.length > 4 ? Long.valueOf(words[4]) : null;
    List<Future<org.apache.kafka.clients.producer.RecordMetadata>> sent = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(words[2]); ++i)
      sent.add(producer.send(new ProducerRecord<>(words[1], 0, timestamp, null, value)));
    producer.flush();
    long last = -1;
    for (var future : sent) last = future.get().offset();
    return Long.toString(last + 1);
  }

  private String deleteRecords(String topic, long offset) throws Exception {
    var partition = new TopicPartition(topic, 0);
    admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(offset))).all().get();
    return "";
  }
}
