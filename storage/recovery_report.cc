#include "storage/recovery_report.h"

namespace offsetfs::storage {

std::string RecoveryReport::to_string() const {
  std::string text;
  for (const Cut& cut : cuts)
    text += cut.file + ": cut at position " + std::to_string(cut.position.value) + ", " +
            std::to_string(cut.bytes) + " bytes: " + cut.why + "\n";
  for (const auto& name : removed) text += name + ": removed\n";
  for (const auto& gap : gaps) text += gap + "\n";
  for (const auto& note : notes) text += note + "\n";
  return text;
}

}  // namespace offsetfs::storage
