import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileWriter;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * What the broker tests ask of a cluster, a line a command, so that a JVM is started once:
 *
 *   create TOPIC [KEY=VALUE ...]            one partition, one replica
 *   set TOPIC KEY=VALUE
 *   produce TOPIC COUNT BYTES [TIMESTAMP]   uncompressed values of BYTES bytes; prints the next offset
 *   delete-records TOPIC OFFSET
 *   delete TOPIC
 *   consume TOPIC ISOLATION FILE            everything up to the end, a record a line (below)
 *   times TOPIC MS ...                      of each: the offset of the first record not before it
 *   ends TOPIC                              the log's start and end
 *   max-timestamp TOPIC                     the offset of the record with the largest time
 *   dump FILES OPTION ...                   kafka-dump-log over FILES, joined by commas; gives what
 *                                           it complains about, blank for newline
 *
 * A line of `consume`: offset TAB timestamp TAB key TAB value TAB header=value,...; hexadecimal,
 * "-" is null.
 *
 * Answers "ok ..." or "error ..." to each.
 */
public class Client {
  private final String bootstrap;
  private final Admin admin;
  private final KafkaProducer<byte[], byte[]> producer;

  Client(String bootstrap) {
    this.bootstrap = bootstrap;
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
      case "consume": return consume(words[1], words[2], words[3]);
      case "times": return times(words);
      case "ends": return ends(words[1]);
      case "max-timestamp": return maxTimestamp(words[1]);
      case "dump": return dump(words);
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

  private KafkaConsumer<byte[], byte[]> consumer(String isolation) {
    Properties config = new Properties();
    config.put("bootstrap.servers", bootstrap);
    config.put("isolation.level", isolation);
    config.put("enable.auto.commit", "false");
    config.put("auto.offset.reset", "none");
    return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private String consume(String topic, String isolation, String file) throws Exception {
    var partition = new TopicPartition(topic, 0);
    long records = 0;
    try (var consumer = consumer(isolation);
        var out = new PrintWriter(new FileWriter(file))) {
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      long end = consumer.endOffsets(List.of(partition)).get(partition);
      while (consumer.position(partition) < end) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          out.print(record.offset() + "\t" + record.timestamp() + "\t" + hex(record.key()) + "\t"
              + hex(record.value()) + "\t");
          String comma = "";
          for (Header header : record.headers()) {
            out.print(comma + header.key() + "=" + hex(header.value()));
            comma = ",";
          }
          out.print("\n");
          ++records;
        }
      }
    }
    return Long.toString(records);
  }

  private static String hex(byte[] bytes) {
    return bytes == null ? "-" : HexFormat.of().formatHex(bytes);
  }

  private String times(String[] words) throws Exception {
    var partition = new TopicPartition(words[1], 0);
    StringBuilder answer = new StringBuilder();
    try (var consumer = consumer("read_uncommitted")) {
      for (int i = 2; i < words.length; ++i) {
        var found = consumer.offsetsForTimes(Map.of(partition, Long.parseLong(words[i]))).get(partition);
        answer.append(i > 2 ? " " : "").append(found == null ? -1 : found.offset());
      }
    }
    return answer.toString();
  }

  private String ends(String topic) throws Exception {
    var partition = new TopicPartition(topic, 0);
    try (var consumer = consumer("read_uncommitted")) {
      return consumer.beginningOffsets(List.of(partition)).get(partition) + " "
          + consumer.endOffsets(List.of(partition)).get(partition);
    }
  }

  private String maxTimestamp(String topic) throws Exception {
    var partition = new TopicPartition(topic, 0);
    var found = admin.listOffsets(Map.of(partition, OffsetSpec.maxTimestamp()));
    return Long.toString(found.partitionResult(partition).get().offset());
  }

  // The tool prints its findings on stderr, and what it was asked to print on stdout; some findings
  // only there.
  private String dump(String[] words) throws Exception {
    List<String> arguments = new ArrayList<>(List.of("--files", words[1]));
    for (int i = 2; i < words.length; ++i) arguments.add(words[i]);
    PrintStream out = System.out, err = System.err;
    var printed = new ByteArrayOutputStream();
    var complained = new ByteArrayOutputStream();
    try {
      System.setOut(new PrintStream(printed, true));
      System.setErr(new PrintStream(complained, true));
      DumpLogSegments.main(arguments.toArray(new String[0]));
    } finally {
      System.setOut(out);
      System.setErr(err);
    }
    StringBuilder answer = new StringBuilder(complained.toString());
    for (String line : printed.toString().split("\n"))
      if (line.contains("isvalid: false") || line.startsWith("Found ") || line.contains("corrupt"))
        answer.append(line).append(' ');
    return answer.toString().trim().replace('\n', ' ');
  }

  private String deleteRecords(String topic, long offset) throws Exception {
    var partition = new TopicPartition(topic, 0);
    admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(offset))).all().get();
    return "";
  }
}
