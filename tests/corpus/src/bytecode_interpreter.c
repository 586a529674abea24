// A stack machine: each thread runs the same byte code on its own input. The big dense switch becomes
// an indexed branch through a table.

#include "gpu.h"

#define STACK 16

enum { HALT, PUSH, DUPLICATE, SWAP, DROP, OVER, ADD, SUBTRACT, MULTIPLY, DIVIDE, AND, OR, XOR, NOT, SHIFT, LESS, EQUAL, JUMP,
       JUMP_IF, INPUT, LOOPS };

// launch bytecode_interpreter grid 1 block 32 args i32[64]=list:19,1,3,8,1,7,6,2,1,100,15,18,20,1,100,12,1,3,10,2,18,26,19,6,0,0,13,0 i32[32]=below:50 i32[32]=zero u32:64 u32:200
KERNEL bytecode_interpreter(const i32 *code, const i32 *input, i32 *out, u32 code_size, u32 steps_max) {
    u32 stack[STACK] = {};
    u32 top = 0;
    u32 at = 0;
    for (u32 step = 0; step < steps_max && at < code_size; step++) {
        i32 instruction = code[at++];
        u32 a = stack[top % STACK];
        u32 b = stack[(top + STACK - 1) % STACK];
        switch (instruction) {
        case HALT:
            out[global_x()] = (i32)a;
            return;
        case PUSH:
            if (at >= code_size) break;
            stack[++top % STACK] = (u32)code[at++];
            break;
        case DUPLICATE:
            stack[++top % STACK] = a;
            break;
        case SWAP:
            stack[top % STACK] = b;
            stack[(top + STACK - 1) % STACK] = a;
            break;
        case DROP:
            top--;
            break;
        case OVER:
            stack[++top % STACK] = b;
            break;
        case ADD:
            stack[--top % STACK] = b + a;
            break;
        case SUBTRACT:
            stack[--top % STACK] = b - a;
            break;
        case MULTIPLY:
            stack[--top % STACK] = b * a;
            break;
        case DIVIDE:
            stack[--top % STACK] = a ? b / a : 0;
            break;
        case AND:
            stack[--top % STACK] = b & a;
            break;
        case OR:
            stack[--top % STACK] = b | a;
            break;
        case XOR:
            stack[--top % STACK] = b ^ a;
            break;
        case NOT:
            stack[top % STACK] = ~a;
            break;
        case SHIFT:
            stack[--top % STACK] = b << (a & 31);
            break;
        case LESS:
            stack[--top % STACK] = (i32)b < (i32)a;
            break;
        case EQUAL:
            stack[--top % STACK] = b == a;
            break;
        case JUMP:
            if (at >= code_size) break;
            at = (u32)code[at];
            break;
        case JUMP_IF:
            top--;
            if (at >= code_size) break;
            at = a ? (u32)code[at] : at + 1;
            break;
        case INPUT:
            stack[++top % STACK] = (u32)input[global_x()];
            break;
        case LOOPS:
            stack[++top % STACK] = step;
            break;
        default:
            out[global_x()] = -1;
            return;
        }
    }
    out[global_x()] = (i32)stack[top % STACK];
}
