//! Floats that are nearly the same: sums and products in more than one order, rounded once or twice.

use super::Grower;
use crate::tree::{Class, Operand, Reg, Statement};

/// An instruction of a chain: its name without a type, the result, the operands, each a number of the chain's
/// registers. 0, 1 and 2 are given.
type Step = (&'static str, usize, &'static [usize]);

/// `a + b + c` in two orders; `a * b + c` rounded twice and once; `(a + b) * c` and `a * c + b * c`; `a - b + b`.
const CHAINS: [&[Step]; 4] = [
    &[("add.rn", 3, &[0, 1]), ("add.rn", 4, &[3, 2]), ("add.rn", 3, &[1, 2]), ("add.rn", 5, &[0, 3])],
    &[("mul.rn", 3, &[0, 1]), ("add.rn", 4, &[3, 2]), ("fma.rn", 5, &[0, 1, 2])],
    &[("add.rn", 3, &[0, 1]), ("mul.rn", 4, &[3, 2]), ("mul.rn", 3, &[0, 2]), ("fma.rn", 5, &[1, 2, 3])],
    &[("sub.rn", 3, &[0, 1]), ("add.rn", 4, &[3, 1])],
];

impl Grower<'_> {
    /// A chain, of registers that differ where there are enough of them.
    pub fn float_chain(&mut self, into: &mut Vec<Statement>) {
        let (class, kind) = *self.random.pick(&[(Class::F, "f32"), (Class::F, "f32"), (Class::D, "f64")]);
        let chain = *self.random.pick(&CHAINS);
        let mut registers: Vec<Reg> = (0..3).map(|_| self.reg(class)).collect();
        for _ in 3..6 {
            let mut fresh = self.new_def(class);
            for _ in 0..8 {
                if registers.contains(&fresh) {
                    fresh = self.new_def(class);
                }
            }
            registers.push(fresh);
        }
        for &(name, def, uses) in chain {
            let uses: Vec<Operand> = uses.iter().map(|&at| Operand::Reg(registers[at])).collect();
            into.push(self.named(&format!("{name}.{kind}"), &[registers[def]], &uses));
        }
    }
}
