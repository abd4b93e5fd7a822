import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileWriter;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
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
 *   load TOPIC SECONDS COUNT RATE FIRST SLOTS FROM TO LEAD
 *                                           at most COUNT records numbered from FIRST, whose bytes
 *                                           load_reader.cc knows, RATE a second (0: as fast as they go);
 *                                           waits while the least of the SLOTS FROM to TO - 1 is more
 *                                           than LEAD behind; prints the next number and the ms waited
 *   latencies TOPIC BYTES SECONDS RATE      produces one by one, a value of BYTES each, and fetches each
 *                                           at the end as it comes; prints p50 and p99 of producing until
 *                                           acknowledged, and until fetched as well, in us
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
    // A broker that was killed may take its time to start beside other work.
    more.put("delivery.timeout.ms", "300000");
    more.put("max.block.ms", "300000");
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
      case "load": return load(words);
      case "latencies": return latencies(words);
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

  private static final int TIME = 3;  // the slot with the time of record 0

  private static byte[] numbered(long number) {
    byte[] value = new byte[100];
    long rest = number;
    for (int i = 19; i >= 0; --i, rest /= 10) value[i] = (byte) ('0' + rest % 10);
    for (int i = 20; i < value.length; ++i) value[i] = (byte) ('a' + (number + i) % 26);
    return value;
  }

  private String load(String[] words) throws Exception {
    long seconds = Long.parseLong(words[2]), count = Long.parseLong(words[3]);
    long rate = Long.parseLong(words[4]), first = Long.parseLong(words[5]);
    int from = Integer.parseInt(words[7]), to = Integer.parseInt(words[8]);
    long lead = Long.parseLong(words[9]);
    long next = first, waited = 0, began = System.nanoTime();
    long last = -1, moved = began;
    var failure = new AtomicReference<Exception>();
    try (var file = FileChannel.open(Path.of(words[6]))) {
      var slots = file.map(FileChannel.MapMode.READ_ONLY, 0, file.size()).order(ByteOrder.LITTLE_ENDIAN);
      while (next - first < count && System.nanoTime() - began < seconds * 1_000_000_000L
          && failure.get() == null) {
        producer.send(new ProducerRecord<>(words[1], 0, slots.getLong(8 * TIME) + next / 1000, null, numbered(next)),
            (sent, error) -> { if (error != null) failure.compareAndSet(null, error); });
        if (++next % 1000 != 0) continue;
        for (;;) {
          long least = Long.MAX_VALUE;
          for (int i = from; i < to; ++i) least = Math.min(least, slots.getLong(8 * i));
          if (next - least <= lead) {
            moved = System.nanoTime();
            break;
          }
          if (least > last) {
            last = least;
            moved = System.nanoTime();
          }
          if (System.nanoTime() - moved > 60_000_000_000L)
            throw new IllegalStateException("a follower stands still at " + least);
          Thread.sleep(1);
          ++waited;
        }
        if (rate > 0) {
          long early = began + (next - first) * 1_000_000_000L / rate - System.nanoTime();
          if (early > 0) Thread.sleep(early / 1_000_000, (int) (early % 1_000_000));
        }
      }
    }
    producer.flush();
    if (failure.get() != null) throw failure.get();
    return next + " " + waited;
  }

  private String latencies(String[] words) throws Exception {
    var partition = new TopicPartition(words[1], 0);
    byte[] value = new byte[Integer.parseInt(words[2])];
    long end = System.nanoTime() + Long.parseLong(words[3]) * 1_000_000_000L;
    long gap = 1_000_000_000L / Long.parseLong(words[4]);
    List<Long> produced = new ArrayList<>(), fetched = new ArrayList<>();
    Properties config = new Properties();
    config.put("bootstrap.servers", bootstrap);
    config.put("acks", "all");
    config.put("linger.ms", "0");
    try (var consumer = consumer("read_uncommitted");
        var one = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
      consumer.assign(List.of(partition));
      consumer.seekToEnd(List.of(partition));
      consumer.position(partition);
      for (long due = System.nanoTime(); due < end; due += gap) {
        while (System.nanoTime() < due) Thread.sleep(0, 100_000);
        long began = System.nanoTime();
        var sent = one.send(new ProducerRecord<>(words[1], 0, null, null, value));
        sent.get();
        produced.add(System.nanoTime() - began);
        while (consumer.poll(Duration.ofSeconds(1)).isEmpty()) {}
        fetched.add(System.nanoTime() - began);
      }
    }
    return at(produced, 0.5) + " " + at(produced, 0.99) + " " + at(fetched, 0.5) + " " + at(fetched, 0.99);
  }

  private static long at(List<Long> times, double part) {
    times.sort(null);
    return times.get((int) ((times.size() - 1) * part)) / 1000;
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
