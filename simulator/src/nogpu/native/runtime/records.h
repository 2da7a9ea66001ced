// What the runtime and the Python side exchange: records, and the numbers in them.
//
// This is their only definition. engine/records.py reads this file and makes its ctypes classes and
// enumerations from it, so that it understands only what is used here: structures of integers,
// char, arrays of these, and pointers; enumerations of integers.
#pragma once
#include <stdint.h>

#include "../include/nogpu_abi.h"

struct Library;
struct Stream;

enum CheckBits : uint32_t {
    kCheckGlobalBounds = 1,
    kCheckSharedBounds = 2,
    kCheckUseAfterFree = 4,
    kCheckMisaligned = 8,
    kCheckUninitialised = 16,
    kCheckRace = 32,
    kCheckBarrier = 64,
    kCheckDivision = 128,
    kCheckOrder = 256,  // of streams
};

// Among a job's checks, but none of them.
enum JobBits : uint32_t {
    kCount = 0x10000,
    kOneWorker = 0x20000,  // the blocks in order, one after another
    kCooperative = 0x40000,  // all blocks at once, each on a worker of its own
};

enum FaultKind : int32_t {
    kNoFault = 0,
    kGlobalOutOfBounds = 1,
    kSharedOutOfBounds = 2,
    kArrayOutOfBounds = 3,  // found by the compiler's bounds check: the array's type is known
    kNullPointer = 4,
    kUseAfterFree = 5,
    kMisaligned = 6,
    kUninitialised = 7,
    kRace = 8,
    kBarrier = 9,
    kStackOverflow = 10,
    kDivision = 11,
    kAssertion = 12,
    kNotDeviceMemory = 13,
    kSignal = 14,
    kTrap = 15,
    kCancelled = 16,
    kDivisionOverflow = 17,
    kDivisionOfSmallest = 18,  // by 0 or by -1: nobody has looked
};

enum RegionKind : int32_t { kNowhere = 0, kGlobal = 1, kShared = 2, kModule = 3 };
enum AccessKind : int32_t { kRead = 0, kWrite = 1, kAtomic = 2 };
enum BarrierTrouble : int32_t {
    kTwoBarriers = 2,  // threads of a warp wait at two different barriers
    kNotInMask = 4,    // a thread called a warp operation whose mask omits it
    kDeadlock = 5,     // everyone waits for someone else
    kSourceAbsent = 6,  // a shuffle from a lane that takes no part in it
    kWarpIncomplete = 7,  // a product of matrices by a warp that has not 32 threads
    kMatricesDiffer = 8,  // lanes that load, store or multiply different matrices together
    kNotCooperative = 9,  // the grid waits for itself in a launch whose blocks come as they come
    kBlocksGone = 10,     // a block waits for the grid, of which blocks have ended
};

enum Space : int32_t { kInGlobal = 0, kInShared = 1, kInModule = 2 };

enum CopyEngine : int32_t { kToDevice, kToHost, kWithin, kCopyEngines };

enum FailureKind : int32_t { kNoFailure, kKernelFailed, kPythonFailed, kCopyFailed, kNoWorker };

struct FaultRecord {
    int32_t kind, access, region, detail;
    uint64_t address, size, pc, offset;
    uint32_t block[3], thread[3];
    uint32_t other_block[3], other_thread[3];
    int32_t has_other, other_access;
    int32_t line, other_line;
    uint32_t waiting, missing;
    int64_t index;
    int32_t signal_number, column;
    char text[256];
};

struct Symbol {
    uint64_t offset, size;
    // 1: extern __shared__, as long as the launch says. 2: the compiler's own flag beside an
    // array of class type, which no check looks at.
    int32_t dynamic, reserved;
};

struct Copy {
    uint64_t destination, source, bytes;
};

struct LaunchRequest {
    const nogpu::Entry* entry;
    Library* library;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared, checks;
    // The device that it runs on, and a bit for each whose memory it may use; 0 where it may use
    // all memory.
    uint32_t device, reach;
    const void* const* arguments;
    const Symbol* shared;  // the shared arrays that this kernel may use
    uint64_t shared_count;
    const Copy* copies;  // device variables carried over from the module's other build
    uint64_t copy_count;
};

// One instruction of the kernel.
struct CounterRow {
    // An address that it used, in the lowest block that came here: absolute in global memory,
    // from the block's first byte in shared memory.
    uint64_t pc, address, block;
    int32_t access, space;
    uint32_t size, late;  // late: a lane came after its request had been counted
    uint64_t requests, accesses, bytes;  // bytes: of all lanes, whether the same or not
    uint64_t sectors, ideal_sectors;
    uint64_t wavefronts, ideal_wavefronts;
};

// The lanes' addresses in one request of block 0: what a picture shows.
struct CounterSample {
    uint64_t pc;
    int32_t access, space;
    uint32_t size, warp, occurrence, mask;
    uint64_t address[32];
};

struct CounterTotals {
    uint64_t barriers, warp_operations, blocks, warps;
};

// Rows of bytes; one row where it is an ordinary copy or fill.
struct Rows {
    uint64_t destination, source, width, height, destination_pitch, source_pitch;
};

// An access of the host to page-locked memory that was protected.
struct Touch {
    uint64_t address;
    int64_t writes;
};

// Two launches that nothing orders, at one address; `pc` is of the first named.
struct OrderConflict {
    uint32_t number, other;
    int32_t access, other_access;
    uint64_t address, pc;
};

// How a node is queued. Where `count` is not negative, `after` names all that it waits for, and
// it does not become the stream's last node: that is how a graph's nodes come.
struct Place {
    Stream* stream;
    uint64_t id;
    const uint64_t* after;
    int32_t count;
    int32_t hold;  // Python holds something until it is done
    uint64_t bytes;
};

struct Span {
    uint64_t stream, id;
    int64_t start, end;
    uint64_t bytes;
    int64_t kind;
};
