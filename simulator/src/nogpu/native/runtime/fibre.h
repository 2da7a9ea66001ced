// Fibres: one stack per CUDA thread that has to wait for others. A switch saves the registers
// that the calling convention preserves and nothing else.
#pragma once
#include "common.h"

extern "C" void nogpu_switch(void** save_stack, void* new_stack);
extern "C" void nogpu_fibre_start();

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl nogpu_switch\n"
    ".hidden nogpu_switch\n"
    ".type nogpu_switch,@function\n"
    "nogpu_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size nogpu_switch,.-nogpu_switch\n"
    ".globl nogpu_fibre_start\n"
    ".hidden nogpu_fibre_start\n"
    "nogpu_fibre_start:\n"
    "  xorl %ebp, %ebp\n"
    "  call nogpu_fibre_main\n"
    "  ud2\n");
static void* prepare_stack(char* top) {
    void** sp = (void**)((uintptr_t)top & ~(uintptr_t)15);
    *--sp = nullptr;                     // keeps the stack aligned at the call
    *--sp = nullptr;
    *--sp = (void*)&nogpu_fibre_start;   // where the first switch returns to
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    return sp;
}
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".globl nogpu_switch\n"
    ".hidden nogpu_switch\n"
    ".type nogpu_switch,%function\n"
    "nogpu_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n  ret\n"
    ".size nogpu_switch,.-nogpu_switch\n"
    ".globl nogpu_fibre_start\n"
    ".hidden nogpu_fibre_start\n"
    "nogpu_fibre_start:\n"
    "  mov x29, #0\n"
    "  bl nogpu_fibre_main\n"
    "  brk #1\n");
static void* prepare_stack(char* top) {
    uint64_t* sp = (uint64_t*)(((uintptr_t)top & ~(uintptr_t)15) - 160);
    memset(sp, 0, 160);
    sp[11] = (uint64_t)&nogpu_fibre_start;  // x30: where the first switch returns to
    return sp;
}
#else
#error "nogpu switches fibres on x86-64 and arm64 only"
#endif

static bool reserve_stacks(Worker* w) {
    void* p = mmap(nullptr, (kMaxThreads + 1) * kStack, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    w->stacks = (char*)p;
    return true;
}

static void reset_fibre(Worker* w, Fibre* f) {
    const uintptr_t n = (uintptr_t)(f - w->fibres);
    // Tops at different offsets in their pages: equal ones would fight for the same cache sets.
    char* top = w->stacks + (n + 1) * kStack - (n % 29) * 128;
    f->stack_pointer = prepare_stack(top);
}

static Fibre* new_fibre(Worker* w) {
    Fibre* f = &w->fibres[w->fibre_count];
    mprotect(w->stacks + w->fibre_count * kStack, kGuard, PROT_NONE);
    w->fibre_count++;
    reset_fibre(w, f);
    return f;
}

// After a kernel was left halfway every fibre starts afresh.
static void reset_fibres(Worker* w) {
    w->free_count = 0;
    for (uint32_t i = w->fibre_count; i-- > 0;) {
        reset_fibre(w, &w->fibres[i]);
        w->free_fibres[w->free_count++] = &w->fibres[i];
    }
}

static inline Fibre* take_fibre(Worker* w) {
    return w->free_count ? w->free_fibres[--w->free_count] : new_fibre(w);
}
