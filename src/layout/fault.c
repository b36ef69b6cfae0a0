/* Faults of layouts as findings. */
#include "layout/tile.h"

const char *layout_fault_hint(base_diagnostics *diagnostics, const layout_fault *fault) {
    if (fault->neighbour == NULL || fault->neighbour[0] == '\0')
        return NULL;
    return base_diagnostics_text(diagnostics, "legal is, for one: %s", fault->neighbour);
}

void layout_fault_report(base_diagnostics *diagnostics, const base_source *source,
                         const layout_fault *fault) {
    base_diagnostic *finding = base_diagnostics_add(
        diagnostics, fault->slug, base_location_at(source, fault->at, fault->length), "%s",
        fault->reason);
    finding->hint = layout_fault_hint(diagnostics, fault);
}
