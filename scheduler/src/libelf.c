/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The static libelf of elfutils 0.192 (Debian 13) calls two functions of a library that is not
 * installed with it (sourceware bug 32293, mended in 0.193). They begin and end a search tree that
 * only elf_getdata_rawchunk() fills, which libbpf never calls: an empty tree is all that is needed.
 * Weak, so that a libelf that has its own keeps it.
 */

void eu_search_tree_init(void **tree);
void eu_search_tree_fini(void **tree, void (*free_node)(void *));

__attribute__((weak)) void eu_search_tree_init(void **tree)
{
	*tree = 0;
}

__attribute__((weak)) void eu_search_tree_fini(void **tree, void (*free_node)(void *))
{
	(void)tree;
	(void)free_node;
}
