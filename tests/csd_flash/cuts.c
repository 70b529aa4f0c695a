// SPDX-License-Identifier: Apache-2.0
// csd_cuts CUTS [SEED]: histories until power was cut that often. For bench/csd_cuts, and for the
// mutants, which must not come through.
#include <stdio.h>
#include <stdlib.h>

#include "history.h"

int main(int argc, char **argv)
{
    uint64_t cuts = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000, done = 0, histories = 0;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (uint64_t seed = first; done < cuts; seed++) {
        // Most devices are as small as can be; some correct errors; some reclaim several blocks at
        // once.
        bool bch = seed % 8 == 7, larger = seed % 8 == 5, full = seed % 2 == 0;
        struct history_options options = {.seed = seed,
                                          .quiet = larger || full ? 1500 : 200,
                                          .operations = 300,
                                          .units = larger ? 480
                                                   : full ? 340
                                                          : 150,
                                          .cuts_each = bch || larger ? 1 : 2,
                                          .depth = 3,
                                          .ecc = bch ? FLASH_ECC_BCH : FLASH_ECC_CRC,
                                          .error_rate = bch ? 2e-5 : 0.0,
                                          .stripe = seed % 4 == 3 ? 2 : 1};
        struct history_result result;
        history_run(&options, &result);
        done += result.cuts;
        histories++;
        if (result.failure[0]) {
            printf("FAILED after %llu cuts: %s\n", (unsigned long long)done, result.failure);
            return 1;
        }
    }
    printf("%llu cuts in %llu histories, 0 failures\n", (unsigned long long)done,
           (unsigned long long)histories);
    return 0;
}
