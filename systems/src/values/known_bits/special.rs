//! What is known of special registers (PTX ISA, section 10): the limits that hold on all targets, and those that the header of
//! a kernel sets.

use super::Known;
use ptxopt_components::code_object::LaunchLimits;
use ptxopt_components::special_registers::SPECIAL_REGISTERS;

/// Threads of a CTA along `x` and `y`, and along `z`.
const THREADS_MAX: u64 = 1024;
const THREADS_Z_MAX: u64 = 64;
/// CTAs of a grid along `x`, and along `y` and `z`.
const CTAS_X_MAX: u64 = (1 << 31) - 1;
const CTAS_MAX: u64 = 65_535;
/// Threads of a warp.
const LANES: u64 = 32;

/// What is known of the component `component` (`x`, `y`, `z`; none where the register has none) of the special register in
/// a row of the table, in a function with these limits; none where that is nothing.
///
/// Clusters are bounded only: a launch without them has clusters of one CTA.
#[must_use]
pub fn of_special_register(row: usize, component: &str, launch: &LaunchLimits) -> Option<Known> {
    let along = match component {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        "" => None,
        _ => return None,
    };
    let ctas = if component == "x" { CTAS_X_MAX } else { CTAS_MAX };
    let (low, high) = match (SPECIAL_REGISTERS.get(row)?.name, along) {
        ("tid", Some(along)) => (0, threads(along, launch).1 - 1),
        ("ntid", Some(along)) => threads(along, launch),
        ("ctaid", Some(_)) => (0, ctas - 1),
        ("nctaid", Some(_)) => (1, ctas),
        ("cluster_ctaid", Some(along)) => (0, cluster(&launch.cluster[along..=along])? - 1),
        ("cluster_nctaid", Some(along)) => (1, cluster(&launch.cluster[along..=along])?),
        ("cluster_ctarank", None) => (0, cluster(&launch.cluster)? - 1),
        ("cluster_nctarank", None) => (1, cluster(&launch.cluster)?),
        ("laneid", None) => (0, LANES - 1),
        _ => return None,
    };
    Some(Known::range(low, high, 32))
}

/// The least and the most threads of a CTA along a dimension. What is over all dimensions is a bound of each.
fn threads(along: usize, launch: &LaunchLimits) -> (u64, u64) {
    let most = if along == 2 { THREADS_Z_MAX } else { THREADS_MAX };
    match (u64::from(launch.threads[along]), u64::from(launch.threads_max)) {
        (exact, _) if (1..=most).contains(&exact) => (exact, exact),
        (_, 0) => (1, most),
        (_, all) => (1, most.min(all)),
    }
}

/// The most CTAs of a cluster over some dimensions, if the header names them all.
fn cluster(extents: &[u32]) -> Option<u64> {
    let product = extents.iter().try_fold(1_u64, |all, &extent| all.checked_mul(u64::from(extent)));
    product.filter(|all| (1..=u64::from(u32::MAX)).contains(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxopt_components::special_registers::find;

    /// The least and the greatest value that a register may have.
    fn range(name: &str, component: &str, launch: &LaunchLimits) -> Option<(u64, u64)> {
        let known = of_special_register(find(name.as_bytes()).unwrap(), component, launch)?;
        Some((known.low(), known.high()))
    }

    #[test]
    fn a_product_of_threads_bounds_each_dimension() {
        let launch = LaunchLimits { threads_max: 48, ..LaunchLimits::default() };
        for component in ["x", "y", "z"] {
            assert_eq!(range("tid", component, &launch), Some((0, 47)));
            assert_eq!(range("ntid", component, &launch), Some((1, 48)));
        }
        let launch = LaunchLimits { threads_max: 512, ..LaunchLimits::default() };
        assert_eq!(range("tid", "z", &launch), Some((0, 63)));
        assert_eq!(range("tid", "z", &LaunchLimits::default()), Some((0, 63)));
        assert_eq!(range("ntid", "x", &LaunchLimits::default()), Some((1, 1024)));
    }

    #[test]
    fn what_a_launch_must_have_is_exact_as_far_as_it_is_possible() {
        let launch = LaunchLimits { threads: [96, 0, 65], ..LaunchLimits::default() };
        assert_eq!(range("ntid", "x", &launch), Some((96, 96)));
        assert_eq!(range("tid", "x", &launch), Some((0, 95)));
        assert_eq!(range("ntid", "y", &launch), Some((1, 1024)));
        assert_eq!(range("ntid", "z", &launch), Some((1, 64)));
    }

    #[test]
    fn clusters_are_bounded() {
        let launch = LaunchLimits { cluster: [4, 2, 0], ..LaunchLimits::default() };
        assert_eq!(range("cluster_ctaid", "x", &launch), Some((0, 3)));
        assert_eq!(range("cluster_nctaid", "y", &launch), Some((1, 2)));
        assert_eq!(range("cluster_nctaid", "z", &launch), None);
        assert_eq!(range("cluster_nctarank", "", &launch), None);
        let launch = LaunchLimits { cluster: [4, 2, 1], ..launch };
        assert_eq!(range("cluster_ctarank", "", &launch), Some((0, 7)));
        let launch = LaunchLimits { cluster: [u32::MAX; 3], ..launch };
        assert_eq!(range("cluster_ctarank", "", &launch), None);
    }
}
