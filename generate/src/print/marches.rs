//! Walks through a local array, as a compiler writes them that has not unrolled their loops.

use super::Writer;
use crate::tree::{Class, March};

impl Writer<'_> {
    /// A loop over the elements of the array, and the sum of those after it.
    pub fn march(&mut self, march: &March) {
        self.declare("march");
        let base = self.base(if march.is_generic { "march_generic" } else { "march" });
        let space = if march.is_generic { "" } else { ".local" };
        let name = |what: &str| format!("%march{}_{what}", march.id);
        let [counter, inner, carried] =
            ["counter", "inner", "carried"].map(|what| self.reserved(name(what), ".b32"));
        let value = self.operand(march.value, Class::R, '<');
        self.line(format!("mov.u32 {carried}, {value};"));
        self.line(format!("mov.u32 {counter}, 0;"));
        let [head, end] = [(); 2].map(|()| self.fresh_label());
        self.label(&head);
        let is_done = self.temp(Class::P);
        self.line(format!("setp.ge.u32 {is_done}, {counter}, {};", march.rounds));
        self.line(format!("@{is_done} bra {end};"));
        if march.is_nested {
            let [next, last] = [(); 2].map(|()| self.fresh_label());
            let is_last = self.temp(Class::P);
            self.line(format!("add.u32 {inner}, {counter}, 1;"));
            self.label(&next);
            self.line(format!("setp.ge.u32 {is_last}, {inner}, {};", march.rounds));
            self.line(format!("@{is_last} bra {last};"));
            self.mix(march, &base, space, &inner, &carried);
            self.line(format!("add.u32 {inner}, {inner}, 1;"));
            self.line(format!("bra {next};"));
            self.label(&last);
        }
        self.mix(march, &base, space, &counter, &carried);
        if march.leaves.is_some() {
            let leaves = self.guard_prefix(march.leaves);
            self.line(format!("{leaves}bra {end};"));
        }
        self.line(format!("add.u32 {counter}, {counter}, 1;"));
        self.line(format!("bra {head};"));
        self.label(&end);
        let mut sum = counter;
        for offset in [0, 4, 8, 12] {
            let [element, added] = [(); 2].map(|()| self.temp(Class::R));
            self.line(format!("ld{space}.u32 {element}, [{base}+{offset}];"));
            self.line(format!("add.u32 {added}, {sum}, {element};"));
            sum = added;
        }
        let def = self.definitions(&[march.def], &[(Class::R, false)]).remove(0);
        self.line(format!("add.u32 {def}, {sum}, {carried};"));
    }

    /// Mixes what is carried into an element, and the element into what is carried on.
    fn mix(&mut self, march: &March, base: &str, space: &str, index: &str, carried: &str) {
        let [offset, address] = [(); 2].map(|()| self.temp(Class::L));
        let [element, mixed] = [(); 2].map(|()| self.temp(Class::R));
        self.line(format!("mul.wide.u32 {offset}, {index}, 4;"));
        self.line(format!("add.s64 {address}, {base}, {offset};"));
        self.line(format!("ld{space}.u32 {element}, [{address}];"));
        self.line(format!("xor.b32 {mixed}, {element}, {carried};"));
        self.line(format!("st{space}.u32 [{address}], {mixed};"));
        let guard = self.guard_prefix(march.guard);
        self.line(format!("{guard}add.u32 {carried}, {mixed}, {index};"));
    }
}
