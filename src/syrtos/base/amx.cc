#include "syrtos/base/amx.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace syrtos {

bool grant_amx() {
#if defined(__x86_64__)
  static const bool granted = [] {
    constexpr unsigned kBf16 = 1U << 22;
    constexpr unsigned kTile = 1U << 24;
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
    if ((edx & kBf16) == 0 || (edx & kTile) == 0) return false;
    constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of newer headers
    constexpr int kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return granted;
#else
  return false;
#endif
}

}  // namespace syrtos
