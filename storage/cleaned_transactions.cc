#include "storage/cleaned_transactions.h"

namespace offsetfs::storage {
namespace {

constexpr std::int16_t kAbort = 0;
constexpr std::int16_t kCommit = 1;

}  // namespace

void CleanedTransactions::add(std::span<const AbortedTransaction> aborted) {
  for (const auto& transaction : aborted) waiting_.emplace(transaction.first_offset, transaction);
}

void CleanedTransactions::begin_up_to(Offset offset) {
  while (!waiting_.empty() && waiting_.begin()->first <= offset) {
    const auto transaction = waiting_.extract(waiting_.begin());
    aborted_.try_emplace(transaction.mapped().producer_id, Aborted{transaction.mapped(), false});
  }
}

bool CleanedTransactions::note_data(const BatchHeader& header) {
  begin_up_to(header.last_offset);
  if (!header.is_transactional()) return false;
  if (const auto found = aborted_.find(header.producer_id); found != aborted_.end()) {
    found->second.has_data = true;
    return true;
  }
  committed_.insert(header.producer_id);
  return false;
}

CleanedTransactions::Marker CleanedTransactions::note_control(const BatchHeader& header,
                                                              std::optional<std::int16_t> type) {
  begin_up_to(header.last_offset);
  if (!type) return {true, std::nullopt};
  if (*type == kCommit) return {committed_.erase(header.producer_id) == 0, std::nullopt};
  if (*type != kAbort) return {false, std::nullopt};
  const auto ended = aborted_.extract(header.producer_id);
  if (ended.empty() || !ended.mapped().has_data) return {true, std::nullopt};
  return {false, ended.mapped().transaction};
}

}  // namespace offsetfs::storage
