#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "storage/batch_header.h"
#include "storage/transaction_index.h"
#include "storage/units.h"

namespace offsetfs::storage {

// What a compaction knows of the transactions that it walks past, in the order of the log: which
// batches were aborted, and which markers have outlived the data of their transactions. One thread.
// Source: Kafka's CleanedTransactionMetadata.
class CleanedTransactions {
 public:
  // Aborted transactions that the walk will meet from here on; the same ones again do no harm.
  void add(std::span<const AbortedTransaction> aborted);

  // True: the batch belongs to an aborted transaction.
  bool note_data(const BatchHeader& header);

  struct Marker {
    bool is_void = false;                       // nothing is left of its transaction
    std::optional<AbortedTransaction> aborted;  // for the new transaction index: data is left
  };
  // `type`: of the control record, nothing where compaction has emptied the batch already.
  Marker note_control(const BatchHeader& header, std::optional<std::int16_t> type);

 private:
  struct Aborted {
    AbortedTransaction transaction;
    bool has_data = false;
  };
  void begin_up_to(Offset offset);

  std::multimap<Offset, AbortedTransaction> waiting_;  // by first offset
  std::map<std::int64_t, Aborted> aborted_;            // under way, by producer
  std::set<std::int64_t> committed_;                   // under way, with data
};

}  // namespace offsetfs::storage
