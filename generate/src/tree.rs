//! The tree of a kernel: what is generated, printed and shrunk.
//!
//! Every tree is valid, whatever is cut out of it: registers are initialised on entry, loops count in registers of their
//! own, memory is touched through places that belong to the thread, and a statement that its surroundings do not allow
//! (an exchange where threads have diverged, a `break` outside loops) is printed as nothing. So the shrinker may remove
//! or replace any part, and the printer is the one place that knows the rules.

/// How many register classes there are.
pub const CLASSES: usize = 10;

/// Register classes. Each has a pool of registers that live through the whole body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Predicates.
    P,
    /// 16-bit integers.
    H,
    /// 32-bit integers.
    R,
    /// 64-bit integers.
    L,
    /// `f32`.
    F,
    /// `f64`.
    D,
    /// `f16`.
    E,
    /// `f16x2`.
    X,
    /// `bf16`.
    B,
    /// `bf16x2`.
    Y,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; CLASSES] =
        [Self::P, Self::H, Self::R, Self::L, Self::F, Self::D, Self::E, Self::X, Self::B, Self::Y];

    /// The name of the pool's registers, without a number.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        ["%p", "%h", "%r", "%rd", "%f", "%fd", "%e", "%x", "%b", "%y"][self as usize]
    }

    /// The untyped register type.
    #[must_use]
    pub fn register_type(self) -> &'static str {
        [".pred", ".b16", ".b32", ".b64", ".f32", ".f64", ".b16", ".b32", ".b16", ".b32"][self as usize]
    }

    /// The class that a letter of the catalogue means.
    #[must_use]
    pub fn of_letter(letter: char) -> Option<Self> {
        "phrlfdexby".find(letter.to_ascii_lowercase()).map(|at| Self::ALL[at])
    }
}

/// A register of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg {
    /// Its class.
    pub class: Class,
    /// Its number in the pool.
    pub index: u8,
}

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// Bits; the class of the slot says how many count.
    Imm(u64),
    /// The counter of a loop; 0 outside of it.
    Counter(u16),
    /// A scalar parameter of the kernel; 0 in functions.
    Scalar(u8),
}

/// Where an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// A register.
    Reg(Reg),
    /// `_` where the slot allows it, else a register that nothing reads.
    Nowhere,
}

/// A guard: a predicate register and whether it is negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Number of the predicate in its pool.
    pub index: u8,
    /// `@!p`.
    pub is_negated: bool,
}

impl Guard {
    /// The guard that holds where this one does not.
    #[must_use]
    pub fn opposite(self) -> Self {
        Self { is_negated: !self.is_negated, ..self }
    }
}

/// An instruction of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Index in the catalogue.
    pub op: u16,
    /// One for each definition slot.
    pub defs: Vec<Def>,
    /// One for each use slot.
    pub uses: Vec<Operand>,
    /// The guard.
    pub guard: Option<Guard>,
}

/// What a branch depends on, and by that which threads go the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cond {
    /// Taken by all.
    Always,
    /// A predicate register: any threads.
    Pred(Guard),
    /// An unsigned or signed comparison of two 32-bit values: any threads.
    Compare(&'static str, Operand, Operand),
    /// The lanes of a mask, the same in each warp.
    Lanes(u32),
    /// The warps of a mask: whole warps.
    Warps(u32),
    /// `value op constant`, where the value is a scalar or a counter of a uniform loop: all threads.
    Uniform(&'static str, Operand, u32),
    /// A comparison of the number of the CTA: all threads.
    Block(&'static str, u32),
}

/// How often a loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trips {
    /// So often.
    Const(u32),
    /// A scalar parameter, masked.
    Scalar(u8, u32),
    /// A register, masked: each thread has its own count.
    Thread(Operand, u32),
}

/// Where a loop tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Tests before the body.
    Top,
    /// Tests and counts before the body: nothing but the jump back comes after it.
    Early,
    /// Tests after the body.
    Bottom,
    /// Tests after the body and counts down.
    Down,
    /// Tests after so many statements of the body.
    Middle(u8),
}

/// A counted loop. Its counter is written by nothing else, so it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Names the counter; unique in the body.
    pub id: u16,
    /// How often it runs.
    pub trips: Trips,
    /// What one turn adds to the counter.
    pub step: u32,
    /// Where it tests.
    pub shape: Shape,
    /// Whether a pragma against unrolling stands before the header.
    pub is_nounroll: bool,
    /// What it does.
    pub body: Vec<Statement>,
}

/// How an arm is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchForm {
    /// `brx.idx` through a table.
    Table,
    /// A chain of comparisons and branches.
    Chain,
}

/// A choice of one of several arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// What chooses.
    pub selector: Operand,
    /// How.
    pub form: SwitchForm,
    /// The guard of the table's branch. Threads that fail it take no arm.
    pub guard: Option<Guard>,
    /// Arm of each value of the selector, taken modulo the length of the table.
    pub table: Vec<u8>,
    /// The arms, and whether each falls into the next.
    pub arms: Vec<(Vec<Statement>, bool)>,
}

/// A node of a region of gotos.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it does.
    pub body: Vec<Statement>,
    /// Jumps at its end, tried in order. A target past the last node is the end of the region.
    pub jumps: Vec<(Cond, u8)>,
}

/// Branches from anywhere to anywhere, irreducible more often than not. A fuel counter of its own ends it.
#[derive(Clone, Debug, PartialEq)]
pub struct Goto {
    /// Names the fuel counter; unique in the body.
    pub id: u16,
    /// Jumps backwards that are allowed.
    pub fuel: u32,
    /// Which node is first.
    pub entries: Vec<(Cond, u8)>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// Memory that a thread may touch freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// The input buffer, read-only.
    Input,
    /// The thread's part of the output buffer.
    Own,
    /// The thread's part of a variable of the module.
    State,
    /// A read-only `.global` table.
    Table,
    /// A `.const` table.
    Const,
    /// Local memory.
    Local,
    /// Another variable in local memory.
    Spill,
    /// The thread's part of static or dynamic shared memory.
    Shared,
    /// Wherever the wandering pointer leads.
    Wanderer,
}

/// How the wandering pointer comes to lead elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By a move.
    Move,
    /// Through memory.
    Stored,
    /// By the distance from another memory.
    Distance(Space),
    /// By a choice between the memory and another one.
    Choice(Space, Guard),
}

/// A change of the wandering pointer, which leads to a memory of the thread always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wander {
    /// Where to: a memory that the thread may write.
    pub to: Space,
    /// How.
    pub way: Way,
    /// The guard.
    pub guard: Option<Guard>,
}

/// A loop with a constant number of rounds that walks through a local array of its own, and leaves the sum of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct March {
    /// Names its registers.
    pub id: u16,
    /// Rounds, at most as many as the array has elements: 4.
    pub rounds: u32,
    /// Whether each round has a loop of its own over the elements that come after.
    pub is_nested: bool,
    /// Whether the address is generic.
    pub is_generic: bool,
    /// What is mixed into the elements.
    pub value: Operand,
    /// Guards what one round leaves to the next.
    pub guard: Option<Guard>,
    /// Ends the loop before its last round.
    pub leaves: Option<Guard>,
    /// The sum.
    pub def: Def,
}

/// One load or store of an access.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryOp {
    /// A store, else a load.
    pub is_store: bool,
    /// Type in memory, `u8`.
    pub kind: &'static str,
    /// `.ca`, `.volatile`, ... or nothing; left out where it does not apply.
    pub qualifier: &'static str,
    /// Bytes after the address; brought into range and aligned by the printer.
    pub offset: u32,
    /// What is loaded; one for each component.
    pub defs: Vec<Def>,
    /// What is stored; one for each component.
    pub uses: Vec<Operand>,
    /// Class of the registers.
    pub class: Class,
    /// The guard.
    pub guard: Option<Guard>,
}

/// How an index moves an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexForm {
    /// 16 bytes a step, by `and.b32` and `mul.wide.u32`.
    Rows,
    /// 4 bytes a step, by `and.b32` and `mul.wide.s32`.
    Words,
    /// 4 bytes a step: masked, extended with its sign, shifted.
    Extended,
    /// 4 bytes a step: extended without a sign, masked, shifted.
    Masked,
    /// 4 bytes a step: a remainder, extended and multiplied.
    Remainder,
}

/// Loads and stores around one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The memory.
    pub space: Space,
    /// Whether it goes through generic addresses.
    pub is_generic: bool,
    /// A 32-bit value that moves the address; none: the start of the memory.
    pub index: Option<Operand>,
    /// How it does.
    pub index_form: IndexForm,
    /// Whether the address is stored to memory, and loaded again.
    pub is_stored: bool,
    /// What is done there.
    pub ops: Vec<MemoryOp>,
}

impl Access {
    /// Loads and stores around the start of a memory.
    #[must_use]
    pub fn at_start(space: Space, ops: Vec<MemoryOp>) -> Self {
        Self { space, is_generic: false, index: None, index_form: IndexForm::Rows, is_stored: false, ops }
    }
}

/// Where an atomic works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicPlace {
    /// A counter in global memory; the result is not used.
    Global,
    /// A counter in shared memory; the result is not used.
    Shared,
    /// The thread's own slot; the result may be used.
    Own,
}

/// An atomic operation. Which one, the location says, so that the order of threads does not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Atomic {
    /// Where.
    pub place: AtomicPlace,
    /// Which location.
    pub location: u8,
    /// `red` where it may be.
    pub is_reduction: bool,
    /// The result, for the thread's own slot.
    pub def: Def,
    /// The operand, 32 or 64 bits as the location says.
    pub value: Operand,
    /// The guard.
    pub guard: Option<Guard>,
}

/// A link of a carry chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The result; it may be nowhere, with the carry alive.
    pub def: Def,
    /// Operands: two for sums and differences, three for products.
    pub uses: [Operand; 3],
    /// The guard. The first link has none.
    pub guard: Option<Guard>,
}

/// What a carry chain computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarryKind {
    /// `add.cc`, `addc`.
    Add,
    /// `sub.cc`, `subc`.
    Sub,
    /// `mad.lo.cc`, `madc.hi`.
    Mad,
}

/// A round of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// What is stored; nothing: only the barriers and the load.
    pub value: Option<Operand>,
    /// What is loaded.
    pub def: Reg,
    /// Which barriers.
    pub barriers: [u8; 2],
}

/// Values that go through shared memory from thread to thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// `R` or `L`.
    pub class: Class,
    /// Byte offset within the thread's slot.
    pub offset: u32,
    /// Distance to the partner.
    pub distance: u32,
    /// `.volatile` accesses.
    pub is_volatile: bool,
    /// Rounds with the same partner: its slot is loaded from again, from an address that is computed once.
    pub rounds: Vec<Round>,
}

/// A copy from global to shared memory that is waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct AsyncCopy {
    /// Byte offset in the table that is copied from.
    pub from: u32,
    /// What is loaded from the copy.
    pub def: Reg,
    /// Bytes that are read; the others are zeros. Nothing: all.
    pub source_bytes: Option<u32>,
    /// The guard of the copy.
    pub guard: Option<Guard>,
}

/// What the threads of a warp do together.
#[derive(Clone, Debug, PartialEq)]
pub enum Collective {
    /// `shfl.sync`: mode, value, lane or distance, clamp; value and predicate.
    Shuffle(&'static str, Operand, u32, u32, Def, Def),
    /// `vote.sync.ballot`.
    Ballot(Guard, Def),
    /// `vote.sync.all`, `any`, `uni`.
    Vote(&'static str, Guard, Def),
    /// `match.any.sync`.
    MatchAny(Operand, Def),
    /// `match.all.sync`.
    MatchAll(Operand, Def, Def),
    /// `redux.sync`: operation with type, value.
    Redux(&'static str, Operand, Def),
    /// `bar.red`: operation, predicate; the class of the result says whether it counts.
    BarrierReduction(&'static str, Guard, Def),
    /// `bar.warp.sync`.
    WarpBarrier,
    /// `elect.sync`; the elected thread adds to a counter.
    Elect,
    /// `mma.sync` of the whole warp: which one, registers of the matrices, registers of the result.
    Matrix(u8, Vec<Operand>, Vec<Def>),
    /// `activemask`, whose result depends on the machine and is not used.
    ActiveMask,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Index of the function.
    pub function: u8,
    /// One for each parameter.
    pub arguments: Vec<Operand>,
    /// One for each result.
    pub results: Vec<Def>,
    /// Depth, for a recursive function.
    pub depth: u32,
    /// Through a register.
    pub is_indirect: bool,
    /// The guard.
    pub guard: Option<Guard>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// An instruction of the catalogue.
    Inst(Inst),
    /// Bits of a float as an integer, NaNs made one.
    Bits(Reg, Reg),
    /// Loads and stores.
    Access(Access),
    /// The wandering pointer leads elsewhere.
    Wander(Wander),
    /// A walk through a local array.
    March(March),
    /// An atomic operation.
    Atomic(Atomic),
    /// A carry chain: kind, whether it is 64 bits wide, links.
    Carry(CarryKind, bool, Vec<Link>),
    /// Two arms.
    If(Cond, Vec<Statement>, Vec<Statement>),
    /// A loop.
    Loop(Loop),
    /// Leaves so many loops and one.
    Break(Cond, u8),
    /// Goes on with the loop; by a latch of its own if so.
    Continue(Cond, bool),
    /// Several arms.
    Switch(Switch),
    /// Gotos.
    Goto(Goto),
    /// A scope whose registers shadow outer ones and start with a value of their own.
    Scope(Vec<(Reg, u64)>, Vec<Statement>),
    /// Code after a branch around it.
    Unreachable(Vec<Statement>),
    /// A branch to the next block, as often, with empty blocks between.
    Next(Cond, u8),
    /// Threads exchange values.
    Exchange(Exchange),
    /// A collective, guarded by a lane mask or not.
    Collective(Collective, Option<u32>),
    /// A call.
    Call(Call),
    /// Return from a function.
    Return(Cond),
    /// The end of some threads, after all barriers.
    Exit(Cond, Vec<Reg>),
    /// Asynchronous copies, each a group of its own, what is done meanwhile, and their waits.
    Copies(Vec<AsyncCopy>, Vec<Statement>),
    /// The end of the whole grid. Where the condition can hold, results are stored first.
    Trap(Cond, Vec<Reg>),
    /// Reads a register that nothing wrote, into one that nothing reads.
    Uninitialised(Class),
}

/// The value of a pool's register on entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// These bits.
    Const(u64),
    /// The number of the thread, times and plus something.
    Thread(u32, u32),
    /// Loaded from the input, at an offset that the thread's number moves.
    Load(u32),
    /// A parameter of the function.
    Parameter(u8),
}

/// Code with its registers.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Values on entry, by class and number.
    pub pools: [Vec<Init>; CLASSES],
    /// The code.
    pub statements: Vec<Statement>,
}

/// How a function takes parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// One `.param` each.
    Params,
    /// All in one `.param` array, results in another.
    Struct,
    /// `.reg` parameters.
    Registers,
}

/// A device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// How it takes parameters.
    pub convention: Convention,
    /// Classes of the parameters.
    pub parameters: Vec<Class>,
    /// Registers that hold the results at the end.
    pub results: Vec<Reg>,
    /// Whether it gets a pointer to the thread's own slots.
    pub has_memory: bool,
    /// Whether it may call itself, a depth parameter being left.
    pub is_recursive: bool,
    /// Whether whole warps call it together.
    pub is_convergent: bool,
    /// Its code.
    pub body: Body,
}

/// How a module is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// `.loc` lines and debug labels.
    pub has_lines: bool,
    /// Some lines are inlined from elsewhere.
    pub has_inlined_lines: bool,
    /// Typed register declarations (`.u32`) instead of untyped ones.
    pub is_typed: bool,
    /// Registers declared one by one.
    pub is_listed: bool,
    /// Dynamic shared memory instead of static.
    pub has_dynamic_shared: bool,
    /// 32-bit addresses into shared memory.
    pub has_short_shared: bool,
    /// The kernel ends past a guarded branch or return, without a return of its own.
    pub ends_past_a_guard: bool,
}

/// A module with one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The seed that it came from; fills the buffers.
    pub seed: u64,
    /// Number after `sm_`.
    pub arch: u32,
    /// Spelling.
    pub style: Style,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Scalar parameters.
    pub scalars: Vec<u32>,
    /// The kernel.
    pub body: Body,
    /// Its end: after all barriers, so threads may leave.
    pub tail: Vec<Statement>,
    /// Registers that reach the output.
    pub outputs: Vec<Reg>,
    /// Device functions. A function calls itself or earlier ones.
    pub functions: Vec<Function>,
}
