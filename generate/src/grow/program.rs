//! The program as a whole.

use super::{Context, Grower};
use crate::options::{Feature, Options};
use crate::print::{Level, full_mask, threads};
use crate::random::Random;
use crate::tree::{Body, Class, Init, Program, Reg, Style};

/// Grows a program.
#[must_use]
pub fn grow(seed: u64, options: &Options) -> Program {
    let mut random = Random::new(seed, 2);
    let arch = *random.pick(&[80, 80, 80, 80, 80, 80, 50, 75, 90, 90]);
    let mut program = frame(seed, arch, options, &mut random);
    let mut grower = Grower::new(random, options, arch);
    grower.full_mask = full_mask(&program);
    grower.threads = threads(&program);
    grower.scalar_count = program.scalars.len();
    if options.weight(Feature::Calls) > 0 {
        program.functions =
            (0..options.functions).map(|index| grower.function(index, options.statements / 4 + 2)).collect();
    }
    grower.new_body();
    grower.budget = options.statements;
    let context = Context {
        level: Level::Block,
        counters: Vec::new(),
        loops: 0,
        may_scatter: false,
        depth: 0,
        turns: 1,
        is_tail: false,
        function: None,
    };
    let has_tail = options.weight(Feature::Exits) > 0;
    let main = if has_tail { options.statements * 3 / 4 } else { options.statements };
    program.body.statements = grower.block(&context, main);
    if has_tail {
        grower.budget = options.statements / 4 + 2;
        let tail = Context { level: Level::Thread, is_tail: true, may_scatter: true, ..context };
        program.tail = grower.block(&tail, 20);
    }
    program.body.pools = Class::ALL.map(|class| grower.pool(class));
    program.outputs = grower.outputs();
    program
}

/// Everything but code.
fn frame(seed: u64, arch: u32, options: &Options, random: &mut Random) -> Program {
    let block = *random.pick(&[
        [32, 1, 1],
        [32, 1, 1],
        [64, 1, 1],
        [8, 4, 1],
        [16, 4, 1],
        [96, 1, 1],
        [4, 4, 4],
        [128, 1, 1],
        [7, 1, 1],
        [1, 1, 1],
        [16, 1, 1],
    ]);
    let size: u32 = block.iter().product();
    let (block, size) = if size > options.threads_max { ([32, 1, 1], 32) } else { (block, size) };
    let blocks = u32::try_from(random.between(1, 3)).expect("small").min((options.threads_max / size).max(1));
    let style = Style {
        has_lines: random.chance(15),
        has_inlined_lines: random.chance(60),
        is_typed: random.chance(50),
        is_listed: random.chance(30),
        has_dynamic_shared: random.chance(30),
        has_short_shared: random.chance(50),
        ends_past_a_guard: seed.is_multiple_of(8),
    };
    let scalars = (0..random.between(1, 3)).map(|_| random.word() % 11).collect();
    let body = Body { pools: Default::default(), statements: Vec::new() };
    Program {
        seed,
        arch,
        style,
        grid: [blocks, 1, 1],
        block,
        scalars,
        body,
        tail: Vec::new(),
        outputs: Vec::new(),
        functions: Vec::new(),
    }
}

impl Grower<'_> {
    /// Values on entry. One register more than come up at random is for what is dead.
    fn pool(&mut self, class: Class) -> Vec<Init> {
        (0..=self.pool_size())
            .map(|_| match self.random.below(4) {
                0 => Init::Const(self.immediate(class)),
                1 | 2 => {
                    // Small numbers, or any of either sign.
                    let mask = if self.random.chance(50) { 0xFFFF } else { u32::MAX };
                    let times = self.random.word() & mask | 1;
                    Init::Thread(times, self.random.word() & 0xFF)
                }
                _ => Init::Load(u32::try_from(self.random.below(256)).expect("below 256")),
            })
            .collect()
    }

    /// Registers that reach the output: most of those that the code writes, and one that it may only read.
    fn outputs(&mut self) -> Vec<Reg> {
        let written: Vec<Reg> = self.written.iter().copied().collect();
        let mut outputs: Vec<Reg> = written.into_iter().filter(|_| self.random.chance(90)).collect();
        let other = self.any_reg(Class::R);
        if !outputs.contains(&other) {
            outputs.push(other);
        }
        outputs
    }
}
