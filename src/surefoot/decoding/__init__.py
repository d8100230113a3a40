"""DFlash and DDTree, exact: targets, drafters, trees, verification, sampling, the generation loop."""
