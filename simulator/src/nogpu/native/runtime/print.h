// printf of kernels. The arguments lie one behind the other, each aligned to its size, and the
// format alone says how many bytes are read, as on a GPU: what a format prints that does not fit
// its arguments was compared with an H200. But each argument comes with its kind, and no string is
// read where none was given.
#pragma once
#include "common.h"

static const size_t kPrintfBuffer = 1 << 20;  // CUDA's default: older output is lost first

static uint64_t count_lines(const std::string& text, size_t end) {
    return (uint64_t)std::count(text.begin(), text.begin() + (long)end, '\n');
}

static void drop_older_lines(Job* job) {
    const size_t enough = job->output.size() - kPrintfBuffer;
    const size_t newline = job->output.find('\n', enough);
    const size_t end = newline == std::string::npos ? enough : newline + 1;
    job->dropped_lines += count_lines(job->output, end);
    job->output.erase(0, end);
}

// Says at a text's beginning how many lines were dropped before it, once.
static void tell_of_dropped_lines(std::string& text, uint64_t& dropped) {
    if (!dropped) return;
    text.insert(0, "[nogpu] " + std::to_string(dropped) + " lines that kernels printed before the "
                   "next one were dropped: the buffer of printf is small, as a GPU's is.\n");
    dropped = 0;
}

// A text of limited length; what does not fit is left out. No memory is allocated, because a
// string's address may be wrong, and the signal leaves the kernel from here.
struct Line {
    char text[4096];
    size_t length;
    void add(char c) {
        if (length < sizeof text) text[length++] = c;
    }
    void add(const char* s) {
        while (*s) add(*s++);
    }
};

// One conversion such as "%-8.3f", without its length letters.
struct Conversion {
    char specification[48];
    size_t length;
    void add(char c) {
        if (length + 4 < sizeof specification) specification[length++] = c;
    }
};

// The arguments' bytes, and of each four of them whether a pointer begins there.
struct Arguments {
    static const uint32_t kMost = 32;
    char bytes[8 * kMost];
    bool pointer[2 * kMost];
    uint32_t size, next;

    Arguments(const nogpu::Printed* values, int count) : bytes(), pointer(), size(0), next(0) {
        for (int i = 0; i < count && i < (int)kMost; i++) {
            const uint32_t width = values[i].kind == nogpu::kPrintedInt ? 4 : 8;
            size = (size + width - 1) & ~(width - 1);
            pointer[size / 4] = values[i].kind == nogpu::kPrintedPointer;
            memcpy(bytes + size, &values[i].bits, width);
            size += width;
        }
    }
    // The next bytes; 0 where there are none.
    nogpu::Printed take(uint32_t width) {
        nogpu::Printed value{nogpu::kPrintedInt, 0};
        next = (next + width - 1) & ~(width - 1);
        if (next + width <= sizeof bytes) {
            memcpy(&value.bits, bytes + next, width);
            if (pointer[next / 4]) value.kind = nogpu::kPrintedPointer;
        }
        next += width;
        return value;
    }
};

static void add_converted(Line& line, Conversion& c, char letter, bool wide, Arguments& arguments) {
    char number[512];
    const nogpu::Printed value = arguments.take(wide || !strchr("diuoxXc", letter) ? 8 : 4);
    int64_t bits = (int64_t)value.bits;
    double real;
    memcpy(&real, &value.bits, sizeof real);
    switch (letter) {
        case 'd': case 'i': case 'u': case 'o': case 'x': case 'X': case 'c': {
            if (!wide && (letter == 'd' || letter == 'i')) bits = (int32_t)bits;
            if (letter == 'c') {
                c.add('c'), c.specification[c.length] = 0;
                snprintf(number, sizeof number, c.specification, (int)bits);
            } else {
                c.add('l'), c.add('l'), c.add(letter), c.specification[c.length] = 0;
                snprintf(number, sizeof number, c.specification, (long long)bits);
            }
            line.add(number);
            return;
        }
        case 's': {
            const char* s = (const char*)value.bits;
            if (value.kind != nogpu::kPrintedPointer) s = "(no string)";
            else if (!s) s = "(null)";
            c.specification[c.length] = 0;
            const char* dot = strchr(c.specification, '.');
            const bool left = strchr(c.specification, '-') != nullptr;
            const size_t most = dot ? (size_t)atoi(dot + 1) : sizeof line.text;
            size_t width = (size_t)atoi(c.specification + 1 + strspn(c.specification + 1, "-+ #0"));
            size_t n = 0;
            while (n < most && s[n]) n++;
            for (; !left && width > n; width--) line.add(' ');
            for (size_t i = 0; i < n; i++) line.add(s[i]);
            for (; left && width > n; width--) line.add(' ');
            return;
        }
        case 'p':
            snprintf(number, sizeof number, "%p", (void*)value.bits);
            line.add(number);
            return;
        default:  // a, e, f, g
            c.add(letter), c.specification[c.length] = 0;
            snprintf(number, sizeof number, c.specification, real);
            line.add(number);
    }
}

static void format_line(Line& line, const char* f, const nogpu::Printed* values, int count) {
    Arguments arguments(values, count);
    while (*f) {
        if (*f != '%' || f[1] == '%') {
            f += *f == '%';
            line.add(*f++);
            continue;
        }
        const char* begin = f++;
        Conversion c{{'%'}, 1};
        bool wide = false;
        for (; *f && strchr("-+ #0123456789.*hljztL", *f); f++) {
            if (*f == '*') {
                char number[16];
                snprintf(number, sizeof number, "%d", (int)arguments.take(4).bits);
                for (const char* n = number; *n; n++) c.add(*n);
            } else if (strchr("ljztL", *f)) {
                wide = true;
            } else if (*f != 'h') {
                c.add(*f);
            }
        }
        if (*f && strchr("diuoxXcspaAeEfFgG", *f)) {
            add_converted(line, c, *f++, wide, arguments);
        } else if (*f == 'n') {  // would write to memory: a GPU has none of that
            arguments.take(8);
            f++;
        } else {
            while (begin < f) line.add(*begin++);
        }
    }
}

CUSIM_API int nogpu_print(const char* format, const nogpu::Printed* values, int count) {
    if (!hot.worker || !format) return -1;
    Line line;
    line.length = 0;
    format_line(line, format, values, count);
    Locked guard;
    Job* job = hot.worker->job;
    Holding held(job->lock);
    job->output.append(line.text, line.length);
    if (job->output.size() > 2 * kPrintfBuffer) drop_older_lines(job);
    return count;
}

CUSIM_API int nogpu_printf(const char* format, ...) { return nogpu_print(format, nullptr, 0); }
