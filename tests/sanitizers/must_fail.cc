// A program that must fail: it shows that the sanitizers of this build are on. Without it a build
// that lost its flags would pass every test.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_SUCCESS;
  if (std::strcmp(argv[1], "use-after-free") == 0) {
    auto owner = std::make_unique<int>(argc);
    const volatile int* gone = owner.get();
    owner.reset();
    return *gone;
  }
  if (std::strcmp(argv[1], "overflow") == 0) {
    volatile int most = INT_MAX;
    most = most + argc;
    return most == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
