// Control flow that compilers turn into branch tables, calls through pointers, and irreducible graphs.

enum Op { ADD, SUB, MUL, DIV, REM, AND, OR, XOR, SHL, SHR, MIN, MAX, NEG, NOT, DUP, SWAP, DROP, JUMP, JZ, HALT };

// A little machine with a stack: one big switch in a loop.
extern "C" __global__ void stack_machine(const int* __restrict__ program, int* out, int fuel) {
    int stack[16];
    int top = 0, pc = 0;
    stack[top++] = threadIdx.x;
    while (fuel-- > 0) {
        int op = program[pc++];
        int b = top > 0 ? stack[top - 1] : 0;
        int a = top > 1 ? stack[top - 2] : 0;
        switch (op) {
            case ADD: stack[--top - 1] = a + b; break;
            case SUB: stack[--top - 1] = a - b; break;
            case MUL: stack[--top - 1] = a * b; break;
            case DIV: stack[--top - 1] = b ? a / b : 0; break;
            case REM: stack[--top - 1] = b ? a % b : 0; break;
            case AND: stack[--top - 1] = a & b; break;
            case OR: stack[--top - 1] = a | b; break;
            case XOR: stack[--top - 1] = a ^ b; break;
            case SHL: stack[--top - 1] = a << (b & 31); break;
            case SHR: stack[--top - 1] = a >> (b & 31); break;
            case MIN: stack[--top - 1] = min(a, b); break;
            case MAX: stack[--top - 1] = max(a, b); break;
            case NEG: stack[top - 1] = -b; break;
            case NOT: stack[top - 1] = ~b; break;
            case DUP: stack[top++] = b; break;
            case SWAP: stack[top - 1] = a; stack[top - 2] = b; break;
            case DROP: --top; break;
            case JUMP: pc = program[pc]; break;
            case JZ: pc = b == 0 ? program[pc] : pc + 1; break;
            case HALT: goto done;
            default: stack[top++] = op; break;
        }
        if (top < 1 || top > 14) break;
    }
done:
    out[threadIdx.x] = top > 0 ? stack[top - 1] : -1;
}

typedef float (*Function)(float, float);

__device__ __noinline__ float f_add(float a, float b) { return a + b; }
__device__ __noinline__ float f_mul(float a, float b) { return a * b; }
__device__ __noinline__ float f_pow(float a, float b) { return powf(a, b); }
__device__ __noinline__ float f_rec(float a, float b) { return b < 1 ? a : f_rec(a * 0.5f, b - 1) + f_rec(a, b - 2); }

__device__ Function table[4] = {f_add, f_mul, f_pow, f_rec};

extern "C" __global__ void call_by_pointer(const int* which, float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = table[which[i] & 3](x[i], x[i + 1]);
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159265f * radius * radius; }
};

extern "C" __global__ void virtual_calls(float* x, const int* kind) {
    int i = threadIdx.x;
    Shape* shape = kind[i] ? (Shape*)new Square(x[i]) : (Shape*)new Circle(x[i]);
    x[i] = shape->area();
    delete shape;
}

// Two ways into one loop.
extern "C" __global__ void two_entries(int* x, int n) {
    int i = threadIdx.x;
    int s = 0;
    if (x[i] & 1) goto middle;
head:
    s += x[i];
    if (s > 1000) goto out;
middle:
    s ^= i;
    i += blockDim.x;
    if (i < n) goto head;
out:
    x[threadIdx.x] = s;
}

extern "C" __global__ void nested_breaks(const int* a, int* b, int n) {
    int total = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        for (int j = 0; j < a[i]; ++j) {
            if (a[j] == 3) continue;
            if (a[j] > 100) break;
            for (int k = j; k > 0; k >>= 1) {
                if (a[k] < 0) goto next;
                if (a[k] == total) return;
                total += a[k] * k;
            }
        }
    next:;
    }
    b[threadIdx.x] = total;
}
