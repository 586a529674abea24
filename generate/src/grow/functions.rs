//! Device functions.

use super::{Callee, Context, Grower};
use crate::print::Level;
use crate::tree::{Body, CLASSES, Class, Convention, Function, Init, Reg};
use std::collections::BTreeSet;

/// Classes that parameters and results have.
const PASSED: [Class; 7] = [Class::R, Class::R, Class::L, Class::R, Class::H, Class::F, Class::D];

impl Grower<'_> {
    /// A function, which may call those before it and perhaps itself.
    pub fn function(&mut self, index: usize, budget: usize) -> Function {
        let convention = *self.random.pick(&[
            Convention::Params,
            Convention::Params,
            Convention::Struct,
            Convention::Registers,
        ]);
        let parameters: Vec<Class> = (0..self.random.below(5)).map(|_| *self.random.pick(&PASSED)).collect();
        let result_count = match convention {
            Convention::Params => self.random.below(2),
            Convention::Struct => self.random.below(4),
            // Several switch the ABI off for the whole module.
            Convention::Registers => {
                if self.random.chance(30) {
                    2
                } else {
                    1
                }
            }
        };
        let result_classes: Vec<Class> = (0..result_count).map(|_| *self.random.pick(&PASSED)).collect();
        let is_convergent = self.random.chance(25);
        let callee = Callee {
            parameters: parameters.clone(),
            results: result_classes.clone(),
            is_convergent,
            has_memory: self.random.chance(60),
            is_recursive: self.random.chance(30),
            cost: 1,
        };
        self.callees.push(callee.clone());
        self.new_body();
        self.may_recurse = callee.is_recursive;
        self.budget = budget;
        let level = if is_convergent { Level::Warp(self.full_mask) } else { Level::Thread };
        let context = Context {
            level,
            counters: Vec::new(),
            loops: 0,
            may_scatter: level == Level::Thread,
            depth: 1,
            turns: 1,
            is_tail: false,
            function: Some(index),
        };
        let statements = self.block(&context, 12);
        self.callees[index].cost = self.cost + 8;
        let results = result_classes.iter().map(|&class| self.result(class)).collect();
        Function {
            convention,
            results,
            has_memory: callee.has_memory,
            is_recursive: callee.is_recursive,
            is_convergent,
            body: Body { pools: self.function_pools(&parameters), statements },
            parameters,
        }
    }

    /// A register that the body computes, if it computes one of the class.
    fn result(&mut self, class: Class) -> Reg {
        let of_class = |regs: &BTreeSet<Reg>| regs.iter().filter(|reg| reg.class == class).copied().collect();
        let (unread, written): (Vec<Reg>, Vec<Reg>) = (of_class(&self.unread), of_class(&self.written));
        let results = if unread.is_empty() { written } else { unread };
        if results.is_empty() { self.any_reg(class) } else { *self.random.pick(&results) }
    }

    /// Parameters stand in the first registers of their classes; the others are constants.
    fn function_pools(&mut self, parameters: &[Class]) -> [Vec<Init>; CLASSES] {
        Class::ALL.map(|class| {
            let own = (0_u8..).zip(parameters).filter(|&(_, &parameter)| parameter == class);
            let mut pool: Vec<Init> = own.map(|(at, _)| Init::Parameter(at)).collect();
            while pool.len() <= self.pool_size() {
                pool.push(Init::Const(self.immediate(class)));
            }
            pool
        })
    }
}
